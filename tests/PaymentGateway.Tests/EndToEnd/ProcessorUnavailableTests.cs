namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A processor that cannot be reached at all, or whose health call says nothing: payments go on.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class ProcessorUnavailableTests(
    ProcessorUnavailableTests.ShortLimitSystem shortLimits)
    : OnRunningSystem(shortLimits), IClassFixture<ProcessorUnavailableTests.ShortLimitSystem>
{
    private const string Default = "default";
    private const int Instances = 2;

    // What the simulator says with its 429.
    private static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    // The long form is HANG_SECONDS=60; the horizon has to be longer than whatever a processor may hang.
    private static readonly TimeSpan Hang = TimeSpan.FromSeconds(int.Parse(
        Environment.GetEnvironmentVariable("HANG_SECONDS") ?? "5", CultureInfo.InvariantCulture));

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
    public async Task A_processor_whose_name_does_not_resolve_is_bypassed_and_used_once_it_does()
    {
        var settings = System.ChildSettings(GatewaySystem.Second);
        settings["Gateway__Processors__Default__BaseUrl"] = "http://no-such-processor.invalid:8080";
        await System.StopAsync(GatewaySystem.First, GatewaySystem.Second);
        await using (var lost = GatewaySystemInstance.Start(settings))
        {
            await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(System.Client), "the instance is ready");
            await PostAsync(200);
            await IsSettledAsync(200, "at fallback, when the fallback delay has ended");
            Assert.Equal(200, (await System.Fallback.PaymentsAsync()).Count);

            // What is still within the fallback delay is handed over by the stop, and finds the name resolved.
            await PostAsync(100);
            lost.Signal(GatewaySystemInstance.Terminate);
            Assert.Equal(0, (await lost.EndAsync(TimeSpan.FromSeconds(15))).ExitCode);
        }

        await System.StartAsync(GatewaySystem.First, GatewaySystem.Second);
        await LedgerCheck.AgreesAsync(System, Ledger);
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

    // An outage and its end are noticed by the calls themselves, and nobody asks for health more often for it.
    [GatewaySystemTheory]
    [InlineData("hang")]
    [InlineData("tooMany")]
    [InlineData("garbage")]
    public async Task A_health_endpoint_without_a_sound_answer_delays_no_payment(string fault)
    {
        var clock = Stopwatch.StartNew();
        await System.Default.SetFaultsAsync(new { health = fault });
        await System.Fallback.SetFaultsAsync(new { health = fault });
        await Eventually.HoldsAsync(
            async () => (await System.Default.CallsAsync()).HealthCalls > 0, "the health of default was asked for");

        await PostAsync(100);
        await System.Default.SetFailureAsync(true);
        await PostAsync(100);
        await System.Default.SetFailureAsync(false);
        await LedgerCheck.AgreesAsync(System, Ledger);

        Ledger.NoClientSawAnError();
        var audit = await LedgerAudit.TakeAsync(System);
        Assert.Equal(new GatewayTotals(200, Ledger.Entries.Sum(entry => entry.Amount)), audit.Gateway.Default);
        // One in each 5 s that this took, and one before.
        Assert.InRange((await System.Default.CallsAsync()).HealthCalls, 1, 2 + (long)(clock.Elapsed.TotalSeconds / 5));
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
