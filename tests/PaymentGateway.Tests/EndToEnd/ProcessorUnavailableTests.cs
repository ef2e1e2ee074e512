namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A processor fails, refuses connections, hangs, or answers 429: payments go on.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class ProcessorUnavailableTests(
    RunningSystem running, ProcessorUnavailableTests.ShortLimitSystem shortLimits)
    : OnRunningSystem(shortLimits), IClassFixture<ProcessorUnavailableTests.ShortLimitSystem>
{
    private const string Default = "default";
    private const int Instances = 2;
    private const int Clients = 50;
    private const int Payments = 1_000;

    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(330);

    // What the simulator says with its 429.
    private static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    // The long form is HANG_SECONDS=60; the horizon has to be longer than whatever a processor may hang.
    private static readonly TimeSpan Hang = TimeSpan.FromSeconds(int.Parse(
        Environment.GetEnvironmentVariable("HANG_SECONDS") ?? "5", CultureInfo.InvariantCulture));

    [GatewaySystemFact]
    public async Task An_outage_of_5_s_is_waited_out_and_every_payment_is_settled_at_default()
    {
        var system = running.System;
        await system.ResetAsync();

        var load = LoadDriver.RunClientsAsync(system.Client, Ledger, Clients, Payments, Pause);
        await Task.Delay(TimeSpan.FromSeconds(1));
        await system.Default.SetFailureAsync(true);
        await Task.Delay(TimeSpan.FromSeconds(5));
        Assert.True(await system.Database.CountUnsettledAsync() > 0);
        await system.Default.SetFailureAsync(false);
        await load;
        await LedgerCheck.AgreesAsync(system, Ledger);

        Ledger.NoClientSawAnError();
        var audit = await LedgerAudit.TakeAsync(system);
        Assert.Equal(new GatewayTotals(Payments, Ledger.Entries.Sum(entry => entry.Amount)), audit.Gateway.Default);
        Assert.Equal(new GatewayTotals(0, 0m), audit.Gateway.Fallback);
        Assert.True(audit.Agrees, $"{audit}");
    }

    [GatewaySystemFact]
    public async Task After_the_fallback_delay_payments_are_settled_at_fallback_and_none_twice()
    {
        var load = LoadDriver.RunClientsAsync(System.Client, Ledger, Clients, Payments, Pause);
        await Eventually.HoldsAsync(
            async () => (await System.Default.CallsAsync()).Posts > Payments / 20, "default is charged");
        await System.Default.SetFailureAsync(true);
        var before = Ledger.Count;
        await load;
        await LedgerCheck.AgreesAsync(System, Ledger);

        Ledger.NoClientSawAnError();
        var audit = await LedgerAudit.TakeAsync(System);
        Assert.True(audit.Agrees, $"{audit}");
        Assert.Equal(Payments, audit.Default.TotalRequests + audit.Fallback.TotalRequests);
        // Whatever was sent after the failure is at fallback: the ledger notes a payment before it is sent.
        Assert.True(audit.Default.TotalRequests > 0);
        Assert.InRange(audit.Fallback.TotalRequests, Math.Max(1, Payments - before), Payments);
    }

    [GatewaySystemFact]
    public async Task A_processor_that_refuses_connections_is_bypassed_and_used_again_when_it_is_back()
    {
        await System.StopAsync(Default);
        await PostAsync(200);
        await IsSettledAsync(200, "at fallback, when the fallback delay has ended");
        await System.StartAsync(Default);
        await LedgerCheck.AgreesAsync(System, Ledger);
        Assert.Equal(200, (await System.Fallback.PaymentsAsync()).Count);

        await IsUsedAgainAsync();
    }

    [GatewaySystemFact]
    public async Task A_processor_that_hangs_for_60_s_keeps_the_payments_it_was_sent_and_all_others_are_settled()
    {
        var load = LoadDriver.RunAtRateAsync(System.Client, Ledger, perSecond: 100, TimeSpan.FromSeconds(3));
        await Task.Delay(TimeSpan.FromSeconds(1));
        GatewaySystemInstance.Signal(System.PidOf(Default), GatewaySystemInstance.Stop);
        var hang = Task.Delay(Hang);
        await load;
        await hang;
        var held = await System.Database.CountUnsettledAsync();
        GatewaySystemInstance.Signal(System.PidOf(Default), GatewaySystemInstance.Continue);
        await LedgerCheck.AgreesAsync(System, Ledger);

        Ledger.NoClientSawAnError();
        var audit = await LedgerAudit.TakeAsync(System);
        Assert.True(held > 0, "nothing was sent to the processor that hung");
        Assert.True(audit.Fallback.TotalRequests > 0, "nothing went on at fallback");
    }

    [GatewaySystemFact]
    public async Task Payments_of_a_killed_instance_are_settled_at_default_at_once_and_none_is_parked()
    {
        const int Waiting = 300;
        const string Fallback = "fallback";
        // A horizon that no test would wait out.
        await using var system = await GatewaySystem.UpAsync(("Gateway__Settling__InDoubtHorizon", "30m"));
        await system.StopAsync(Fallback);
        await system.Default.SetFailureAsync(true);
        await LoadDriver.RunClientsAsync(system.Api1, Ledger, clients: 20, Waiting, TimeSpan.Zero);
        // Some are in flight when it dies: default goes on and stores them.
        await system.Default.SetDelayAsync(TimeSpan.FromSeconds(1));
        await system.Default.SetFailureAsync(false);
        await Eventually.HoldsAsync(
            async () => (await system.Default.CallsAsync()).InFlight > 3, "charges are in flight");

        await system.KillAsync(GatewaySystem.First);
        await system.Default.SetDelayAsync(TimeSpan.Zero);

        await Eventually.HoldsAsync(
            async () => await system.Database.CountUnsettledAsync() == 0,
            "all is settled while fallback is unavailable");
        Assert.Equal(Waiting, await system.Database.CountAsync("settlements"));
        Assert.Equal(0, await system.Database.CountAsync($"payments WHERE owner_epoch = {PaymentStates.Sql.Parked}"));
        var repeated = (await system.Default.CallsAsync()).Duplicates422;
        Assert.True(repeated > 0, "nothing that the dead instance had sent was sent again");
        await system.StartAsync(Fallback);
        await LedgerCheck.AgreesAsync(system, Ledger);
        Ledger.NoClientSawAnError();
        Assert.Empty(await system.Fallback.PaymentsAsync());
    }

    [GatewaySystemFact]
    public async Task Retry_After_of_many_429_is_obeyed_and_everything_is_settled_once()
    {
        await System.Default.SetFaultsAsync(new { tooMany = true });
        // Each instance has heard it before anything is counted.
        foreach (var instance in System.RunningInstances())
            await LoadDriver.PostAsync(instance, Ledger);
        await Eventually.HoldsAsync(
            async () => await Refused429Async() >= 2 * Instances, "each was told to wait, and tried again");
        var load = LoadDriver.RunAtRateAsync(System.Client, Ledger, perSecond: 150, TimeSpan.FromSeconds(3));
        var clock = Stopwatch.StartNew();
        var before = await Refused429Async();
        await load;
        var during = await Refused429Async() - before;
        var pauses = clock.Elapsed / RetryAfter;
        await System.Default.ClearFaultsAsync();
        await LedgerCheck.AgreesAsync(System, Ledger);

        Ledger.NoClientSawAnError();
        // A call of each instance for each pause, and one at its beginning.
        Assert.InRange(during, 1, Instances * (1 + (long)pauses));
    }

    private async Task PostAsync(int payments)
    {
        await LoadDriver.RunClientsAsync(System.Client, Ledger, clients: 10, payments, TimeSpan.Zero);
        Ledger.NoClientSawAnError();
    }

    private async Task<long> Refused429Async() => (await System.Default.CallsAsync()).Refused429;

    private Task IsSettledAsync(int payments, string where) => Eventually.HoldsAsync(
        async () => await System.Database.CountAsync("settlements") == payments, $"{payments} are settled {where}");

    // No payment waits in an outage longer than the fallback delay, so fallback takes them until a probe was answered.
    private Task IsUsedAgainAsync() => Eventually.HoldsAsync(
        async () =>
        {
            var already = (await System.Default.PaymentsAsync()).Count;
            await PostAsync(100);
            await LedgerCheck.AgreesAsync(System, Ledger);
            return (await System.Default.PaymentsAsync()).Count == already + 100;
        },
        "default takes all payments again");

    /// <summary>Gives calls up after 1 s and default after 2 s, and believes a 404 only long after.</summary>
    public sealed class ShortLimitSystem : RunningSystem
    {
        protected override (string Name, string Value)[] Settings =>
        [
            ("Gateway__Settling__CallTimeout", "1s"), ("Gateway__Routing__FallbackAfter", "2s"),
            ("Gateway__Settling__InDoubtHorizon", $"{Hang.TotalSeconds + 5}s"),
        ];
    }
}
