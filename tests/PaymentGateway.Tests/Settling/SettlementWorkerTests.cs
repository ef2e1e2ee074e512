using PaymentGateway.Recording;
using PaymentGateway.Settling;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Settling;

/// <summary>When a payment is charged and where, what becomes of each outcome, and how the worker stops.</summary>
public sealed class SettlementWorkerTests : IAsyncLifetime
{
    private const int Epoch = WorkerRig.Epoch;

    private readonly WorkerRig rig = new();

    private Stages Stages => rig.Stages;

    public Task InitializeAsync() => rig.InitializeAsync();

    public Task DisposeAsync() => rig.DisposeAsync();

    [PostgresFact]
    public async Task A_payment_is_charged_once_and_its_outcome_goes_on_as_it_was_sent()
    {
        await rig.StartAsync();

        var payment = rig.Pay();

        var settlement = Assert.Single(await rig.TakeOutcomesAsync(1));
        var stored = Assert.Single(await rig.Cheap.PaymentsAsync()).Value;
        Assert.Equal(new Settlement(payment, Processor.Default, 1990, stored.RequestedAt.UtcDateTime), settlement);
        Assert.Equal(rig.Clock.GetUtcNow().UtcDateTime, stored.RequestedAt.UtcDateTime);
        Assert.Equal((1, 0), await rig.PostsAsync());
        // The ledger does not have it yet.
        Assert.Equal([payment], Stages.Open.Snapshot());
    }

    [PostgresFact]
    public async Task Without_the_lease_nothing_is_charged_and_with_it_everything_goes_on()
    {
        await rig.StartAsync(isHeld: false);
        rig.Pay();
        await rig.CheckAsync(times: 10);
        Assert.Equal((0, 0), await rig.PostsAsync());

        Stages.HoldLease(Epoch);
        await rig.CheckAsync(times: 1);

        await rig.TakeOutcomesAsync(1);
    }

    [PostgresFact]
    public async Task While_the_ledger_is_behind_nothing_is_charged_and_with_room_everything_goes_on()
    {
        await rig.StartAsync(("Gateway:Recording:MaxBuffered", "1"));
        var unwritten = new Settlement(rig.NewPayment(), Processor.Default, 1990, Batches.Noon);
        Stages.Outcomes.Add(unwritten);
        rig.Pay();
        await rig.CheckAsync(times: 10);
        Assert.Equal((0, 0), await rig.PostsAsync());

        Stages.Outcomes.Remove([unwritten]);
        await rig.CheckAsync(times: 1);

        Assert.Equal(2, (await rig.TakeOutcomesAsync(2)).Count);
        Assert.Equal((1, 0), await rig.PostsAsync());
    }

    // Were they to take part in the pace, a hundred of them would be a second.
    [PostgresFact]
    public async Task What_is_purged_or_anothers_is_dropped_and_keeps_nobody_waiting()
    {
        await rig.StartAsync(("Gateway:Settling:MaxRate", "100"));
        var dropped = Enumerable.Range(0, 100).Select(number => rig.NewPayment(Epoch + (number % 2)));
        foreach (var payment in dropped)
        {
            payment.Purged = payment.Epoch == Epoch;
            rig.Add(payment);
        }

        var mine = rig.Pay();

        Assert.Same(mine, Assert.Single(await rig.TakeOutcomesAsync(1)).Payment);
        Assert.Equal([mine], Stages.Open.Snapshot());
        Assert.Equal((1, 0), await rig.PostsAsync());
    }

    [PostgresFact]
    public async Task Charges_begin_no_faster_than_the_pace()
    {
        await rig.StartAsync(("Gateway:Settling:MaxRate", "100"));
        for (var payment = 0; payment < 5; payment++)
            rig.Pay();

        for (var charged = 1; charged <= 5; charged++)
        {
            await rig.TakeOutcomesAsync(1);
            Assert.Equal((charged, 0), await rig.PostsAsync());
            await rig.AdvanceAsync(TimeSpan.FromMilliseconds(10), armed: charged < 5 ? 1 : 0);
        }
    }

    [PostgresFact]
    public async Task A_lone_payment_waits_for_company_and_they_begin_together()
    {
        await rig.StartAsync(("Gateway:Settling:Linger", "40ms"));
        rig.Pay();
        await rig.AdvanceAsync(TimeSpan.FromMilliseconds(39), armed: 1);
        Assert.Equal((0, 0), await rig.PostsAsync());
        rig.Pay();
        rig.Pay();

        await rig.AdvanceAsync(TimeSpan.FromMilliseconds(1), armed: 1);

        await rig.TakeOutcomesAsync(3);
        Assert.Equal((3, 0), await rig.PostsAsync());
    }

    [PostgresFact]
    public async Task Past_its_patience_a_payment_goes_to_fallback_once_the_database_knows_that_fallback_is_used()
    {
        await rig.StartAsync(("Gateway:Routing:FallbackAfter", "3s"));
        rig.DefaultSaysSlow();
        var payment = rig.Pay();
        await rig.CheckAsync(times: 59);
        Assert.False(Stages.Lease.FallbackRequested);

        await rig.CheckAsync(times: 10);
        Assert.True(Stages.Lease.FallbackRequested);
        Assert.Equal((0, 0), await rig.PostsAsync());
        Stages.Lease.FallbackMarked(Epoch);
        await rig.CheckAsync(times: 1);

        var settlement = Assert.Single(await rig.TakeOutcomesAsync(1));
        Assert.Equal((payment, Processor.Fallback), (settlement.Payment, settlement.Processor));
        Assert.Equal((0, 1), await rig.PostsAsync());
    }

    [PostgresFact]
    public async Task What_may_be_at_default_is_looked_up_there_and_not_charged_at_fallback()
    {
        await rig.StartAsync(("Gateway:Routing:FallbackAfter", "0s"));
        Stages.Lease.FallbackMarked(Epoch);
        rig.DefaultSaysSlow();
        var adopted = rig.NewPayment();
        (adopted.InDoubt, adopted.ChargedAt, adopted.DoubtSince) = (true, Processor.Default, rig.Clock.GetTimestamp());

        rig.Add(adopted);

        await Eventually.HoldsAsync(async () => (await rig.Cheap.CallsAsync()).Lookups > 0, "default is asked for it");
        Assert.Equal(1, Stages.Doubts.Count);
        Assert.Equal((0, 0), await rig.PostsAsync());
        Assert.Equal((0, 0), (Stages.Queue.Count, Stages.Outcomes.Count));
    }

    [PostgresFact]
    public async Task A_refused_payment_is_tried_again_with_a_new_time_and_never_in_doubt()
    {
        await rig.StartAsync();
        await rig.Cheap.SetFailureAsync(true);
        var payment = rig.Pay();
        await rig.RestsAsync(payment);
        Assert.NotEqual(0, (await rig.Cheap.CallsAsync()).Posts);
        await rig.Cheap.SetFailureAsync(false);

        while (Stages.Outcomes.Count == 0)
            await rig.CheckAsync(payment);

        Assert.Equal(0, Stages.Doubts.Count);
        var stored = Assert.Single(await rig.Cheap.PaymentsAsync()).Value;
        Assert.True(stored.RequestedAt > payment.AcceptedAt, $"{stored.RequestedAt}");
        Assert.Equal(0, (await rig.Dear.CallsAsync()).Posts);
    }

    // The simulator's 429 says Retry-After: 1.
    [PostgresFact]
    public async Task A_429_is_obeyed_to_the_look_with_one_call_for_each_pause()
    {
        await rig.StartAsync();
        await rig.Cheap.SetFaultsAsync(new { tooMany = true });
        var began = rig.Clock.GetUtcNow();
        var calls = new List<double>();
        var payment = rig.Pay();

        for (var look = 0; look <= 100; look++)
        {
            await rig.RestsAsync(payment);
            while (calls.Count < (await rig.Cheap.CallsAsync()).Posts)
                calls.Add((rig.Clock.GetUtcNow() - began).TotalSeconds);
            rig.Clock.Advance(WorkerRig.PollInterval);
        }

        Assert.Equal([0, 1, 2, 3, 4, 5], calls);
        Assert.Equal(6, (await rig.Cheap.CallsAsync()).Refused429);
        Assert.Equal(0, (await rig.Dear.CallsAsync()).Posts);
    }

    [PostgresFact]
    public async Task What_a_processor_calls_malformed_is_parked_and_in_nobodys_way()
    {
        var epoch = await rig.Database.OpenEpochAsync();
        await rig.StartAsync(epoch);
        await rig.Cheap.SetFaultsAsync(new { status = 400, times = 1 });
        var malformed = rig.NewPayment(epoch);
        await rig.Database.Payments.StoreAsync(Batches.ToStore([malformed.Id], epoch, malformed.AcceptedAt));

        rig.Add(malformed);
        await Eventually.HoldsAsync(() => Stages.Open.Count == 0, "it is parked");
        var next = rig.NewPayment(epoch);
        rig.Add(next);

        Assert.Same(next, Assert.Single(await rig.TakeOutcomesAsync(1)).Payment);
        Assert.Equal(
            "-1 Default answered 400",
            await rig.Database.ScalarAsync<string>("SELECT owner_epoch || ' ' || parked_reason FROM payments"));
    }

    [PostgresFact]
    public async Task What_may_be_stored_is_not_parked_whatever_the_processor_calls_it()
    {
        await rig.StartAsync();
        await rig.Cheap.SetFaultsAsync(new { status = 400, times = 1 });
        var adopted = rig.NewPayment();
        (adopted.InDoubt, adopted.ChargedAt, adopted.DoubtSince) = (true, Processor.Default, rig.Clock.GetTimestamp());

        rig.Add(adopted);

        await Eventually.HoldsAsync(async () => (await rig.Cheap.CallsAsync()).Lookups > 0, "it is looked up");
        Assert.DoesNotContain(
            Stages.LogOf<PaymentParking>(), line => line.Contains("is parked", StringComparison.Ordinal));
    }

    [PostgresFact]
    public async Task A_broken_answer_is_looked_up_and_not_charged_again()
    {
        await rig.StartAsync();
        await rig.Cheap.SetFaultsAsync(new { afterInsert = "reset", times = 1 });

        var payment = rig.Pay();

        var settlement = Assert.Single(await rig.TakeOutcomesAsync(1));
        Assert.Equal((payment, Processor.Default), (settlement.Payment, settlement.Processor));
        Assert.Equal((1, 0), await rig.PostsAsync());
    }

    [PostgresFact]
    public async Task As_many_charges_are_in_flight_as_the_limit_says_and_the_rest_follows()
    {
        await rig.StartAsync(("Gateway:Settling:MaxConcurrency", "2"));
        await rig.Cheap.SetFaultsAsync(new { beforeInsert = "hang" });
        for (var payment = 0; payment < 5; payment++)
            rig.Pay();
        await Eventually.HoldsAsync(async () => (await rig.Cheap.CallsAsync()).InFlight == 2, "two are in flight");
        // Two time limits and the worker's next look.
        for (var look = 0; look < 5; look++)
            await rig.AdvanceAsync(WorkerRig.PollInterval, armed: 3);
        Assert.Equal((2, 0), await rig.PostsAsync());

        await rig.Cheap.ClearFaultsAsync();

        Assert.Equal(5, (await rig.TakeOutcomesAsync(5)).Count);
        Assert.Equal((5, 0), await rig.PostsAsync());
    }

    [PostgresFact]
    public async Task A_stop_takes_no_more_and_charges_what_is_in_the_queue()
    {
        var worker = await rig.StartAsync();
        await rig.Cheap.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        for (var payment = 0; payment < 3; payment++)
            rig.Pay();
        await Eventually.HoldsAsync(async () => (await rig.Cheap.CallsAsync()).InFlight == 1, "one hangs");

        var stop = worker.StopAsync(CancellationToken.None);
        Assert.False(Stages.Queue.TryAdd(rig.NewPayment()));
        await rig.Cheap.ClearFaultsAsync();
        await rig.StopsAsync(stop, within: TimeSpan.FromMinutes(1));

        Assert.Equal(3, (await rig.TakeOutcomesAsync(3)).Count);
        Assert.Empty(Stages.LogOf<SettlementWorker>());
    }

    [PostgresFact]
    public async Task A_stop_hands_over_at_once_what_no_processor_takes()
    {
        var worker = await rig.StartAsync(("Gateway:Settling:DrainTimeout", "5s"));
        rig.DefaultSaysSlow();
        var payment = rig.Pay();
        await rig.CheckAsync(times: 1);

        await rig.StopsAsync(worker.StopAsync(CancellationToken.None), within: TimeSpan.FromSeconds(0.5));

        Assert.Equal([payment], Stages.Open.Snapshot());
        Assert.False(payment.InDoubt);
        Assert.Equal((0, 0), await rig.PostsAsync());
    }

    [PostgresFact]
    public async Task A_charge_that_outlasts_the_drain_is_left_in_doubt_and_the_log_says_so()
    {
        var worker = await rig.StartAsync(("Gateway:Settling:DrainTimeout", "2s"));
        await rig.Cheap.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var payment = rig.Pay();
        await Eventually.HoldsAsync(async () => (await rig.Cheap.CallsAsync()).InFlight == 1, "it hangs");
        var began = rig.Clock.GetUtcNow();

        await rig.StopsAsync(worker.StopAsync(CancellationToken.None), within: TimeSpan.FromSeconds(2.1));

        Assert.InRange(rig.Clock.GetUtcNow() - began, TimeSpan.FromSeconds(2), TimeSpan.FromSeconds(2.1));
        Assert.Equal([payment], Stages.Open.Snapshot());
        Assert.True(payment.InDoubt);
        Assert.Contains("with 1 charges", Assert.Single(Stages.LogOf<SettlementWorker>()), StringComparison.Ordinal);
    }
}
