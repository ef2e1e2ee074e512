using PaymentGateway.Tests.Support;
using Xunit.Abstractions;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Every way in which a processor can fail to say what it did, through the real thing.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class ProcessorFaultTests(ProcessorFaultTests.FallingBackSystem fallingBack, ITestOutputHelper output)
    : IClassFixture<ProcessorFaultTests.FallingBackSystem>, IAsyncLifetime
{
    private readonly LoadLedger _ledger = new();

    private GatewaySystem System => fallingBack.System;

    public Task InitializeAsync() => System.ResetAsync();

    public Task DisposeAsync() => Task.CompletedTask;

    [GatewaySystemFact]
    public Task A_charge_stored_and_then_reset_is_settled_once_where_it_was_sent() =>
        IsSettledOnceAtDefaultAsync(new { afterInsert = "reset", times = 1 });

    [GatewaySystemFact]
    public Task A_charge_stored_and_then_answered_500_with_a_body_is_settled_once_where_it_was_sent() =>
        IsSettledOnceAtDefaultAsync(new { afterInsert = "errorBody", times = 1 });

    [GatewaySystemFact]
    public Task A_charge_stored_and_never_answered_is_settled_once_where_it_was_sent() =>
        IsSettledOnceAtDefaultAsync(new { afterInsert = "hang", times = 1 });

    [GatewaySystemFact]
    public Task A_charge_stored_and_answered_in_a_trickle_is_settled_once_where_it_was_sent() =>
        IsSettledOnceAtDefaultAsync(new { trickle = true, times = 1 });

    [GatewaySystemFact]
    public Task A_charge_reset_before_the_insert_is_settled_once_where_it_was_sent() =>
        IsSettledOnceAtDefaultAsync(new { beforeInsert = "reset", times = 1 });

    [GatewaySystemFact]
    public Task A_charge_answered_with_garbage_is_settled_once_where_it_was_sent() =>
        IsSettledOnceAtDefaultAsync(new { garbage = true, times = 1 });

    [GatewaySystemFact]
    public async Task Retry_After_of_a_429_is_obeyed_and_the_payment_is_settled_once()
    {
        var before = DateTimeOffset.UtcNow;
        await IsSettledOnceAtDefaultAsync(new { tooMany = true, times = 1 });

        var calls = await System.Default.CallsAsync();
        Assert.Equal((2, 1), (calls.Posts, calls.Refused429));
        // Retry-After says 1 s, and the call that was refused came after this test had begun.
        var stored = Assert.Single(await System.Default.PaymentsAsync()).Value;
        Assert.True(stored.RequestedAt - before >= TimeSpan.FromSeconds(1), $"{stored.RequestedAt - before}");
    }

    [GatewaySystemFact]
    public async Task A_call_that_hangs_before_the_insert_and_is_stored_late_is_charged_once()
    {
        await System.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        await LoadDriver.PostAsync(System.Client, _ledger);
        await Eventually.HoldsAsync(
            async () => await System.Database.CountAsync("settlements") == 1, "the repeated call has settled it");
        await System.Default.ClearFaultsAsync();

        await LedgerCheck.AgreesAsync(System, _ledger);
        Assert.Equal(1, (await System.Default.CallsAsync()).Duplicates422);
    }

    [GatewaySystemFact]
    public async Task After_many_faults_at_once_the_ledgers_agree()
    {
        object[] storm =
        [
            new { afterInsert = "reset", times = 20 }, new { tooMany = true, times = 30 },
            new { afterInsert = "errorBody", times = 20 }, new { garbage = true, times = 20 },
            new { beforeInsert = "reset", times = 20 }, new { afterInsert = "hang", times = 10 },
        ];

        var load = LoadDriver.RunAtRateAsync(System.Client, _ledger, perSecond: 150, TimeSpan.FromSeconds(7));
        foreach (var faults in storm)
        {
            await Task.Delay(TimeSpan.FromSeconds(1));
            await System.Default.SetFaultsAsync(faults);
        }

        await load;
        await System.Default.ClearFaultsAsync();
        var drained = await LedgerCheck.AgreesAsync(System, _ledger);

        _ledger.NoClientSawAnError();
        var (calls, audit) = (await System.Default.CallsAsync(), await LedgerAudit.TakeAsync(System));
        output.WriteLine($"{audit.Default.TotalRequests} at default, {audit.Fallback.TotalRequests} at fallback, "
            + $"{calls.Posts} charges and {calls.Lookups} look-ups, drained in {drained.TotalSeconds:0.0} s");
    }

    [GatewaySystemFact]
    public async Task A_payment_in_doubt_stays_at_default_though_fallback_is_healthy_and_the_fallback_delay_is_over()
    {
        await using var system = await GatewaySystem.UpAsync(("Gateway__Routing__FallbackAfter", "0s"));
        await system.Default.SetFaultsAsync(new { afterInsert = "reset" });
        var load = LoadDriver.RunAtRateAsync(system.Client, _ledger, perSecond: 100, TimeSpan.FromSeconds(3));
        await load;
        await LedgerCheck.AgreesAsync(system, _ledger);

        var (calls, audit) = (await system.Default.CallsAsync(), await LedgerAudit.TakeAsync(system));
        Assert.True(audit.Default.TotalRequests > 0);
        Assert.True(audit.Fallback.TotalRequests > 0);
        output.WriteLine($"{audit.Default.TotalRequests} at default, {audit.Fallback.TotalRequests} at fallback, "
            + $"{calls.Posts} charges and {calls.Lookups} look-ups at default");
    }

    [GatewaySystemFact]
    public async Task A_payment_that_a_processor_calls_malformed_is_parked_and_settled_when_it_is_replayed()
    {
        await System.Default.SetFaultsAsync(new { status = 400, times = 1 });
        var malformed = await LoadDriver.PostAsync(System.Client, _ledger);
        await Eventually.HoldsAsync(
            async () => (await ParkedAsync()).Contains($"{malformed.Id}", StringComparison.Ordinal), "it is parked");
        await LoadDriver.RunClientsAsync(System.Client, _ledger, clients: 5, payments: 50, TimeSpan.Zero);
        await Eventually.HoldsAsync(
            async () => await System.Database.CountAsync("settlements") == 50, "the others are settled");

        using var replayed = await System.Client.PostAsync($"admin/parked/{malformed.Id}/replay", null);
        replayed.EnsureSuccessStatusCode();
        await Eventually.HoldsAsync(
            async () => await System.Database.CountAsync("settlements") == 51, "the parked one is settled");

        await LedgerCheck.AgreesAsync(System, _ledger);
        Assert.Equal("[]", await ParkedAsync());
    }

    // Whatever stands in front of a processor may say any of them; only the processor itself says 400.
    [GatewaySystemFact]
    public async Task Ten_seconds_of_4xx_other_than_400_park_nothing_and_all_is_settled_afterwards()
    {
        var load = LoadDriver.RunAtRateAsync(System.Client, _ledger, perSecond: 125, TimeSpan.FromSeconds(10));
        foreach (var status in new[] { 404, 401, 403, 408 })
        {
            var before = (await System.Default.CallsAsync()).Posts;
            await System.Default.SetFaultsAsync(new { status });
            await Task.Delay(TimeSpan.FromSeconds(2.5));
            await Eventually.HoldsAsync(
                async () => (await System.Default.CallsAsync()).Posts > before, $"a charge was answered {status}");
        }

        await load;
        var calls = await System.Default.CallsAsync();
        Assert.Equal("[]", await ParkedAsync());

        await System.Default.ClearFaultsAsync();
        var drained = await LedgerCheck.AgreesAsync(System, _ledger);

        _ledger.NoClientSawAnError();
        Assert.Equal("[]", await ParkedAsync());
        output.WriteLine($"{calls.Posts} charges were refused, drained in {drained.TotalSeconds:0.0} s");
    }

    private Task<string> ParkedAsync() => System.Client.GetStringAsync("admin/parked");

    private async Task IsSettledOnceAtDefaultAsync(object faults)
    {
        await System.Default.SetFaultsAsync(faults);
        await LoadDriver.PostAsync(System.Client, _ledger);
        var drained = await LedgerCheck.AgreesAsync(System, _ledger);

        var calls = await System.Default.CallsAsync();
        Assert.Equal(0, await System.Default.FaultTimesLeftAsync());
        Assert.Single(await System.Default.PaymentsAsync());
        Assert.Empty(await System.Fallback.PaymentsAsync());
        output.WriteLine(
            $"{drained.TotalSeconds:0.00} s, {calls.Posts} charges, {calls.Lookups} look-ups");
    }

    /// <summary>Gives a call up after 1 s, so that a hang is in doubt soon, and doubt ends soon.</summary>
    public sealed class FallingBackSystem : IAsyncLifetime
    {
        public GatewaySystem System { get; private set; } = null!;

        public async Task InitializeAsync()
        {
            if (GatewaySystemParts.SkipReason is null)
                System = await GatewaySystem.UpAsync(
                    ("Gateway__Settling__CallTimeout", "1s"), ("Gateway__Settling__InDoubtHorizon", "3s"));
        }

        public async Task DisposeAsync()
        {
            if (System is not null)
                await System.DisposeAsync();
        }
    }
}
