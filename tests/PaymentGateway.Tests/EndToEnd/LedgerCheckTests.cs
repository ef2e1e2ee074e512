using System.Globalization;
using System.Net.Http.Json;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The comparison that the other tests rely on can fail: it finds each thing that may be wrong.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class LedgerCheckTests(RunningSystem running) : IAsyncLifetime
{
    // Once for each instance.
    private const string Summary = "the summary says";

    private readonly LoadLedger _ledger = new();
    private LoadEntry _sent = null!;

    private GatewaySystem System => running.System;

    public async Task InitializeAsync()
    {
        if (System is null)
            return;
        await System.ResetAsync();
        _sent = await LoadDriver.PostAsync(System.Client, _ledger);
        await LedgerCheck.AgreesAsync(System, _ledger);
    }

    public Task DisposeAsync() => Task.CompletedTask;

    [GatewaySystemFact]
    public async Task The_check_finds_a_payment_that_both_processors_charged()
    {
        await ChargeAsync(System.Fallback, _sent.Id, _sent.Amount);

        await FindsAsync("1 charged by both processors", Summary, Summary);
    }

    [GatewaySystemFact]
    public async Task The_check_finds_a_charge_that_is_not_in_the_ledger()
    {
        await ChargeAsync(System.Default, Guid.NewGuid(), 0.01m);

        await FindsAsync("1 charged, and not in the ledger", Summary, Summary);
    }

    [GatewaySystemFact]
    public async Task The_check_finds_an_acknowledged_payment_that_is_nowhere()
    {
        _ledger.Note(_sent with { Id = Guid.NewGuid() });

        await FindsAsync("1 acknowledged, and not in the ledger");
    }

    [GatewaySystemFact]
    public async Task The_check_finds_another_amount_than_was_sent()
    {
        _ledger.Note(_sent with { Amount = _sent.Amount + 0.01m });

        await FindsAsync("1 in the ledger, and not as it was sent");
    }

    [GatewaySystemFact]
    public async Task The_check_finds_another_requestedAt_at_the_processor()
    {
        var stored = (await System.Default.PaymentsAsync())[_sent.Id];
        await System.Default.PurgeAsync();
        await ChargeAsync(System.Default, _sent.Id, _sent.Amount, stored.RequestedAt.AddMicroseconds(1));

        await FindsAsync("1 in the ledger, and not so at their processor");
    }

    [GatewaySystemFact]
    public async Task The_check_finds_a_payment_that_nobody_settles_though_nobody_was_told_of_it()
    {
        await System.Default.SetFailureAsync(true);
        await System.Fallback.SetFailureAsync(true);
        _ledger.Note(await LoadDriver.PostAsync(System.Client, _ledger) with { Outcome = LoadOutcome.Unavailable });

        var found = await Assert.ThrowsAnyAsync<Xunit.Sdk.XunitException>(
            () => LedgerCheck.AgreesAsync(System, _ledger, within: TimeSpan.Zero));

        Assert.Contains("\n1 unsettled in the ledger", found.Message, StringComparison.Ordinal);
    }

    private static async Task ChargeAsync(
        SimulatedProcessor processor, Guid id, decimal amount, DateTimeOffset? requestedAt = null)
    {
        var stamp = (requestedAt ?? DateTimeOffset.UtcNow).UtcDateTime;
        using var charged = await processor.Client.PostAsJsonAsync("payments", new
        {
            correlationId = id,
            amount,
            requestedAt = stamp.ToString("O", CultureInfo.InvariantCulture),
        });
        charged.EnsureSuccessStatusCode();
    }

    private async Task FindsAsync(params string[] expected)
    {
        var differences = await LedgerCheck.CompareAsync(System, _ledger);

        Assert.Equal(expected.Length, differences.Count);
        foreach (var (difference, start) in differences.Zip(expected))
            Assert.StartsWith(start, difference, StringComparison.Ordinal);
    }
}
