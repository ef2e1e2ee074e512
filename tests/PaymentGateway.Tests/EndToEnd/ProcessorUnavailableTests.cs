namespace PaymentGateway.Tests.EndToEnd;

[Collection(OneAfterAnother.Name)]
public sealed class ProcessorUnavailableTests
{
    // The long form is HANG_SECONDS=60; the horizon has to be longer than whatever a processor may hang.
    private static readonly TimeSpan Hang = TimeSpan.FromSeconds(int.Parse(
        Environment.GetEnvironmentVariable("HANG_SECONDS") ?? "5", CultureInfo.InvariantCulture));

    private readonly LoadLedger _ledger = new();

    [GatewaySystemFact]
    public async Task A_processor_that_hangs_for_60_s_keeps_the_payments_it_was_sent_and_all_others_are_settled()
    {
        // Calls are given up after 1 s and default after 2 s; a 404 is believed only long after.
        await using var system = await GatewaySystem.UpAsync(
            ("Gateway__Settling__CallTimeout", "1s"), ("Gateway__Routing__FallbackAfter", "2s"),
            ("Gateway__Settling__InDoubtHorizon", $"{Hang.TotalSeconds + 5}s"));
        var load = LoadDriver.RunAtRateAsync(system.Client, _ledger, perSecond: 100, TimeSpan.FromSeconds(3));
        await Task.Delay(TimeSpan.FromSeconds(1));
        Posix.Send(system.PidOf(PartNames.Default), Signal.Stop);
        var hang = Task.Delay(Hang);
        await load;
        await hang;
        var held = await system.Database.CountUnsettledAsync();
        Posix.Send(system.PidOf(PartNames.Default), Signal.Continue);
        await LedgerCheck.AgreesAsync(system, _ledger);

        _ledger.NoClientSawAnError();
        var audit = await LedgerAudit.TakeAsync(system);
        Assert.True(held > 0, "nothing was sent to the processor that hung");
        Assert.True(audit.Processors.Fallback.TotalRequests > 0, "nothing went on at fallback");
    }

    [GatewaySystemFact]
    public async Task Payments_of_a_killed_instance_are_settled_at_default_at_once_and_none_is_parked()
    {
        const int Waiting = 300;
        // A horizon that no test would wait out.
        await using var system = await GatewaySystem.UpAsync(("Gateway__Settling__InDoubtHorizon", "30m"));
        await system.StopAsync(PartNames.Fallback);
        await system.Default.SetFailureAsync(true);
        await LoadDriver.RunClientsAsync(system.Api1, _ledger, clients: 20, Waiting, TimeSpan.Zero);
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
        Assert.Equal(0, await system.Database.CountAsync($"payments WHERE owner_epoch = {Owners.Sql.Parked}"));
        var repeated = (await system.Default.CallsAsync()).Duplicates422;
        Assert.True(repeated > 0, "nothing that the dead instance had sent was sent again");
        await system.StartAsync(PartNames.Fallback);
        await LedgerCheck.AgreesAsync(system, _ledger);
        _ledger.NoClientSawAnError();
        Assert.Empty(await system.Fallback.PaymentsAsync());
    }
}
