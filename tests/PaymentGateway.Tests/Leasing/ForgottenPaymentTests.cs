using System.Net;
using System.Net.Http.Json;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Leasing;

/// <summary>
/// A stored payment that nobody looks after: its closed epoch's search is over, or begins later. A client that repeats
/// it is told that it will settle, so it must.
/// </summary>
public sealed class ForgottenPaymentTests : IAsyncLifetime
{
    private const string SearchIsOver = "now()";
    private const string SearchBeginsLater = "NULL";

    private readonly Guid _id = Guid.NewGuid();
    private GatewayRig _rig = null!;

    public async Task InitializeAsync() => _rig = await GatewayRig.StartAsync(new TestDatabase());

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [PostgresTheory]
    [InlineData(SearchIsOver)]
    [InlineData(SearchBeginsLater)]
    public async Task A_repeated_payment_that_no_instance_owns_is_settled_once(string adoptedAt)
    {
        await ForgetAsync(adoptedAt, usedFallback: false);
        var gateway = await _rig.StartGatewayAsync();

        Assert.Equal(HttpStatusCode.Accepted, await gateway.PayAsync(_id));

        await _rig.LedgersReachAsync(byDefault: 1);
        Assert.Equal([_id], (await _rig.Default.PaymentsAsync()).Keys);
        await _rig.AssertLedgersAgreeAsync();
    }

    [PostgresFact]
    public async Task A_repeated_payment_that_may_be_at_fallback_is_looked_up_before_it_is_charged_again()
    {
        // Its dead owner had charged it there, and has recorded nothing.
        var requestedAt = DateTime.UtcNow.AddSeconds(-30);
        using var charged = await _rig.Fallback.Client.PostAsJsonAsync(
            "payments", new { correlationId = _id, amount = 19.90m, requestedAt });
        charged.EnsureSuccessStatusCode();
        await ForgetAsync(SearchIsOver, usedFallback: true);
        var gateway = await _rig.StartGatewayAsync();

        Assert.Equal(HttpStatusCode.Accepted, await gateway.PayAsync(_id));

        await _rig.LedgersReachAsync(byDefault: 0, byFallback: 1);
        Assert.Empty(await _rig.Default.PaymentsAsync());
        await _rig.AssertLedgersAgreeAsync();
    }

    [PostgresFact]
    public async Task A_repeated_payment_that_is_settled_or_owned_starts_no_new_search()
    {
        await ForgetAsync(SearchIsOver, usedFallback: false);
        var epoch = await _rig.Database.ScalarAsync<int>("SELECT max(epoch) FROM leases");
        await _rig.Database.ExecuteAsync(
            $"""
            INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at)
            SELECT correlation_id, accepted_at, 1, amount_cents, now() FROM payments
            """);

        Assert.Single(await _rig.Database.Payments.FindRepeatedAsync([_id]));

        Assert.True(await _rig.Database.ScalarAsync<bool>(
            $"SELECT adopted_at IS NOT NULL FROM leases WHERE epoch = {epoch}"));
    }

    private Task ForgetAsync(string adoptedAt, bool usedFallback) =>
        _rig.Database.ExecuteAsync(
            $"""
            WITH dead AS (
                INSERT INTO leases (instance, expires_at, closed_at, adopted_at, low_water_mark, used_fallback)
                VALUES ('dead', now(), now(), {adoptedAt}, now(), {usedFallback})
                RETURNING epoch
            )
            INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
            SELECT '{_id}', 1990, now() - interval '1 minute', epoch FROM dead
            """);
}
