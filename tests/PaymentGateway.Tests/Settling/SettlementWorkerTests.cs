using PaymentGateway.Processors;

namespace PaymentGateway.Tests.Settling;

/// <summary>When a payment is charged and where, what becomes of each outcome, and how the worker stops.</summary>
public sealed class SettlementWorkerTests : IAsyncLifetime
{
    private const int Epoch = WorkerRig.Epoch;

    private readonly WorkerRig _rig = new();

    private Stages Stages => _rig.Stages;

    public Task InitializeAsync() => _rig.InitializeAsync();

    public Task DisposeAsync() => _rig.DisposeAsync();

    [PostgresFact]
    public async Task A_payment_is_charged_once_and_recorded_with_what_was_sent()
    {
        await _rig.StartAsync();

        var payment = _rig.Pay();

        var settlement = Assert.Single(await _rig.TakeOutcomesAsync(1));
        var stored = Assert.Single(await _rig.Default.PaymentsAsync()).Value;
        Assert.Equal(new Settlement(payment, Processor.Default, 1990, stored.RequestedAt.UtcDateTime), settlement);
        Assert.Equal(_rig.Clock.GetUtcNow().UtcDateTime, stored.RequestedAt.UtcDateTime);
        Assert.Equal((1, 0), await _rig.PostsAsync());
        // The ledger does not have it yet.
        Assert.Equal([payment], Stages.Open.Snapshot());
    }

    [PostgresFact]
    public async Task Without_the_lease_nothing_is_charged_and_with_it_everything_goes_on()
    {
        await _rig.StartAsync(isHeld: false);
        _rig.Pay();
        await _rig.CheckAsync(times: 10);
        Assert.Equal((0, 0), await _rig.PostsAsync());

        Stages.HoldLease(Epoch);
        await _rig.CheckAsync(times: 1);

        await _rig.TakeOutcomesAsync(1);
    }

    [PostgresFact]
    public async Task While_the_ledger_is_behind_nothing_is_charged_and_with_capacity_charging_goes_on()
    {
        await _rig.StartAsync(("Gateway:Recording:MaxBuffered", "1"));
        var unwritten = new Settlement(_rig.NewPayment(), Processor.Default, 1990, Batches.Noon);
        Stages.Outcomes.Add(unwritten);
        _rig.Pay();
        await _rig.CheckAsync(times: 10);
        Assert.Equal((0, 0), await _rig.PostsAsync());

        Stages.Outcomes.Remove([unwritten]);
        await _rig.CheckAsync(times: 1);

        Assert.Equal(2, (await _rig.TakeOutcomesAsync(2)).Count);
        Assert.Equal((1, 0), await _rig.PostsAsync());
    }

    // Were they to take part in the pace, a hundred of them would be a second.
    [PostgresFact]
    public async Task A_payment_that_is_purged_or_not_ours_is_dropped_and_delays_no_other()
    {
        await _rig.StartAsync(("Gateway:Settling:MaxRate", "100"));
        var dropped = Enumerable.Range(0, 100).Select(number => _rig.NewPayment(Epoch + (number % 2)));
        foreach (var payment in dropped)
        {
            payment.Purged = payment.Epoch == Epoch;
            _rig.Add(payment);
        }

        var mine = _rig.Pay();

        Assert.Same(mine, Assert.Single(await _rig.TakeOutcomesAsync(1)).Payment);
        Assert.Equal([mine], Stages.Open.Snapshot());
        Assert.Equal((1, 0), await _rig.PostsAsync());
    }

    [PostgresFact]
    public async Task Charges_begin_no_faster_than_the_rate_limit()
    {
        await _rig.StartAsync(("Gateway:Settling:MaxRate", "100"));
        for (var payment = 0; payment < 5; payment++)
            _rig.Pay();

        for (var charged = 1; charged <= 5; charged++)
        {
            await _rig.TakeOutcomesAsync(1);
            Assert.Equal((charged, 0), await _rig.PostsAsync());
            await _rig.AdvanceAsync(TimeSpan.FromMilliseconds(10), armed: charged < 5 ? 1 : 0);
        }
    }

    [PostgresFact]
    public async Task A_lone_payment_lingers_for_others_and_they_are_charged_together()
    {
        await _rig.StartAsync(("Gateway:Settling:Linger", "40ms"));
        await _rig.SettleFirstAsync(TimeSpan.FromMilliseconds(40));
        _rig.Pay();
        await _rig.AdvanceAsync(TimeSpan.FromMilliseconds(39), armed: 1);
        Assert.Equal((1, 0), await _rig.PostsAsync());
        _rig.Pay();
        _rig.Pay();

        await _rig.AdvanceAsync(TimeSpan.FromMilliseconds(1), armed: 1);

        await _rig.TakeOutcomesAsync(3);
        Assert.Equal((4, 0), await _rig.PostsAsync());
    }

    [PostgresTheory]
    [InlineData(0)]
    [InlineData(3600)]   // The wall clock was that far ahead when the payment was accepted.
    public async Task After_the_fallback_delay_a_payment_goes_to_fallback_once_the_mark_is_committed(int aheadSeconds)
    {
        await _rig.StartAsync(("Gateway:Routing:FallbackAfter", "3s"));
        Stages.Part<ProcessorLanes>().Default.Health.End(
            probe: false, latency: null, retryAfter: TimeSpan.FromMinutes(1));
        var acceptedAt = Timestamps.Truncate(_rig.Clock.GetUtcNow().UtcDateTime.AddSeconds(aheadSeconds));
        var payment = new Payment(Guid.NewGuid(), 1990, acceptedAt, Epoch);
        _rig.Add(payment);
        await _rig.CheckAsync(times: 59);
        Assert.False(Stages.Lease.FallbackRequested);

        await _rig.CheckAsync(times: 10);
        Assert.True(Stages.Lease.FallbackRequested);
        Assert.Equal((0, 0), await _rig.PostsAsync());
        Stages.Lease.FallbackMarked(Epoch);
        await _rig.CheckAsync(times: 1);

        var settlement = Assert.Single(await _rig.TakeOutcomesAsync(1));
        Assert.Equal((payment, Processor.Fallback), (settlement.Payment, settlement.Processor));
        Assert.Equal((0, 1), await _rig.PostsAsync());
    }

    [PostgresTheory]
    [InlineData(false)]   // Another payment would take fallback.
    [InlineData(true)]    // Another payment would wait.
    public async Task A_payment_in_doubt_at_default_is_looked_up_there_and_not_charged_at_fallback(bool defaultFails)
    {
        await _rig.StartAsync();
        Stages.Lease.FallbackMarked(Epoch);
        if (defaultFails)
            Stages.Part<ProcessorLanes>().Default.Health.End(probe: true, latency: null, retryAfter: null);
        else
            _rig.DefaultSaysSlow();
        var adopted = _rig.NewPayment();
        (adopted.InDoubt, adopted.ChargedAt, adopted.DoubtSince) = (true, Processor.Default, _rig.Clock.GetTimestamp());

        _rig.Add(adopted);

        await Eventually.HoldsAsync(
            async () => (await _rig.Default.CallsAsync()).Lookups > 0, "default is asked for it");
        Assert.Equal(1, Stages.Doubts.Count);
        Assert.Equal((0, 0), await _rig.PostsAsync());
        Assert.Equal((0, 0), (Stages.Queue.Count, Stages.Outcomes.Count));
    }

    [PostgresFact]
    public async Task A_processor_with_8000_payments_in_doubt_is_charged_no_more_until_some_are_resolved()
    {
        await _rig.StartAsync();
        await _rig.Default.SetFaultsAsync(new { lookUp = "hang" });
        for (var doubt = 0; doubt < 8_000; doubt++)
        {
            var payment = _rig.NewPayment();
            (payment.InDoubt, payment.ChargedAt) = (true, Processor.Default);
            Stages.Doubts.Add(payment);
        }

        _rig.Pay();
        for (var look = 0; look < 5; look++)
            await _rig.AdvanceAsync(WorkerRig.PollInterval, armed: 17);   // 16 look-ups, and the worker.
        Assert.Equal((0, 0), await _rig.PostsAsync());

        await _rig.Default.ClearFaultsAsync();

        await Eventually.HoldsAsync(
            () =>
            {
                _rig.Clock.Advance(WorkerRig.PollInterval);
                return Stages.Outcomes.Count > 0;
            },
            "it is charged again");
    }

    [PostgresFact]
    public async Task A_refused_payment_is_tried_again_with_a_new_time_and_never_in_doubt()
    {
        await _rig.StartAsync();
        await _rig.Default.SetFailureAsync(true);
        var payment = _rig.Pay();
        await _rig.RestsAsync(payment);
        Assert.NotEqual(0, (await _rig.Default.CallsAsync()).Posts);
        await _rig.Default.SetFailureAsync(false);

        while (Stages.Outcomes.Count == 0)
            await _rig.CheckAsync(payment);

        Assert.Equal(0, Stages.Doubts.Count);
        var stored = Assert.Single(await _rig.Default.PaymentsAsync()).Value;
        Assert.True(stored.RequestedAt > payment.AcceptedAt, $"{stored.RequestedAt}");
        Assert.Equal(0, (await _rig.Fallback.CallsAsync()).Posts);
    }

    // The simulator's 429 says Retry-After: 1.
    [PostgresFact]
    public async Task After_a_429_one_call_follows_at_the_first_poll_past_each_pause()
    {
        await _rig.StartAsync();
        await _rig.Default.SetFaultsAsync(new { tooMany = true });
        var began = _rig.Clock.GetUtcNow();
        var calls = new List<double>();
        var payment = _rig.Pay();

        for (var look = 0; look <= 100; look++)
        {
            await _rig.RestsAsync(payment);
            while (calls.Count < (await _rig.Default.CallsAsync()).Posts)
                calls.Add((_rig.Clock.GetUtcNow() - began).TotalSeconds);
            _rig.Clock.Advance(WorkerRig.PollInterval);
        }

        Assert.Equal([0, 1, 2, 3, 4, 5], calls);
        Assert.Equal(6, (await _rig.Default.CallsAsync()).Refused429);
        Assert.Equal(0, (await _rig.Fallback.CallsAsync()).Posts);
    }

    [PostgresFact]
    public async Task A_payment_that_a_processor_calls_malformed_is_parked_and_delays_no_other()
    {
        var epoch = await _rig.Database.OpenEpochAsync();
        await _rig.StartAsync(epoch);
        await _rig.Default.SetFaultsAsync(new { status = 400, times = 1 });
        var malformed = _rig.NewPayment(epoch);
        await _rig.Database.Payments.StoreAsync(Batches.ToStore([malformed.Id], epoch, malformed.AcceptedAt));

        _rig.Add(malformed);
        await Eventually.HoldsAsync(() => Stages.Open.Count == 0, "it is parked");
        var next = _rig.NewPayment(epoch);
        _rig.Add(next);

        Assert.Same(next, Assert.Single(await _rig.TakeOutcomesAsync(1)).Payment);
        Assert.Equal(
            "-1 Default answered 400",
            await _rig.Database.ScalarAsync<string>("SELECT owner_epoch || ' ' || parked_reason FROM payments"));
    }

    [PostgresFact]
    public async Task A_payment_in_doubt_is_not_parked_even_if_the_processor_calls_it_malformed()
    {
        await _rig.StartAsync();
        await _rig.Default.SetFaultsAsync(new { status = 400, times = 1 });
        var adopted = _rig.NewPayment();
        (adopted.InDoubt, adopted.ChargedAt, adopted.DoubtSince) = (true, Processor.Default, _rig.Clock.GetTimestamp());

        _rig.Add(adopted);

        await Eventually.HoldsAsync(async () => (await _rig.Default.CallsAsync()).Lookups > 0, "it is looked up");
        Assert.DoesNotContain(
            Stages.LogOf<OwnedPayments>(), line => line.Contains("is parked", StringComparison.Ordinal));
    }

    [PostgresFact]
    public async Task A_broken_answer_is_looked_up_and_not_charged_again()
    {
        await _rig.StartAsync();
        await _rig.Default.SetFaultsAsync(new { afterInsert = "reset", times = 1 });

        var payment = _rig.Pay();

        var settlement = Assert.Single(await _rig.TakeOutcomesAsync(1));
        Assert.Equal((payment, Processor.Default), (settlement.Payment, settlement.Processor));
        Assert.Equal((1, 0), await _rig.PostsAsync());
    }

    // Each repetition of its charge is in doubt anew.
    [PostgresFact]
    public async Task A_payment_that_default_breaks_each_time_and_never_stores_goes_to_fallback()
    {
        await _rig.StartAsync();
        Stages.Lease.FallbackMarked(Epoch);
        await _rig.Default.SetFaultsAsync(new { garbage = true });
        var payment = _rig.Pay();
        var until = _rig.Clock.GetUtcNow() + TimeSpan.FromMinutes(2);

        await Eventually.HoldsAsync(
            () =>
            {
                _rig.Clock.Advance(4 * WorkerRig.PollInterval);
                return Stages.Outcomes.Count > 0 || _rig.Clock.GetUtcNow() > until;
            },
            "it is settled, or two minutes have passed");

        Assert.Equal(1, Stages.Outcomes.Count);
        var settlement = Assert.Single(await _rig.TakeOutcomesAsync(1));
        Assert.Equal((payment, Processor.Fallback), (settlement.Payment, settlement.Processor));
    }

    [PostgresFact]
    public async Task As_many_charges_are_in_flight_as_there_are_permits_and_the_others_follow()
    {
        await _rig.StartAsync(("Gateway:Settling:MaxConcurrency", "2"));
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        for (var payment = 0; payment < 5; payment++)
            _rig.Pay();
        await _rig.Default.HoldsAsync(2);
        // Two time limits and the worker's next look.
        for (var look = 0; look < 5; look++)
            await _rig.AdvanceAsync(WorkerRig.PollInterval, armed: 3);
        Assert.Equal((2, 0), await _rig.PostsAsync());

        await _rig.Default.ClearFaultsAsync();

        Assert.Equal(5, (await _rig.TakeOutcomesAsync(5)).Count);
        Assert.Equal((5, 0), await _rig.PostsAsync());
    }

    [PostgresFact]
    public async Task A_stop_accepts_no_more_and_charges_the_queued_payments()
    {
        var worker = await _rig.StartAsync(("Gateway:Settling:DrainTimeout", "5m"));
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        for (var payment = 0; payment < 3; payment++)
            _rig.Pay();
        await _rig.Default.HoldsAsync(1);

        var stop = worker.StopAsync(CancellationToken.None);
        Assert.False(Stages.Queue.TryAdd(_rig.NewPayment()));
        Assert.False(stop.IsCompleted);
        await _rig.Default.ClearFaultsAsync();
        Assert.Equal(3, (await _rig.TakeOutcomesAsync(3)).Count);
        await _rig.StopsAsync(stop, within: TimeSpan.FromMinutes(5));

        Assert.Empty(Stages.LogOf<SettlementWorker>());
    }

    [PostgresFact]
    public async Task A_stop_hands_over_at_once_the_payments_that_no_processor_takes()
    {
        var worker = await _rig.StartAsync(("Gateway:Settling:DrainTimeout", "5s"));
        _rig.DefaultSaysSlow();
        var payment = _rig.Pay();
        await _rig.CheckAsync(times: 1);

        await _rig.StopsAsync(worker.StopAsync(CancellationToken.None), within: TimeSpan.FromSeconds(0.5));

        Assert.Equal([payment], Stages.Open.Snapshot());
        Assert.False(payment.InDoubt);
        Assert.Equal((0, 0), await _rig.PostsAsync());
    }

    [PostgresFact]
    public async Task A_charge_that_outlasts_the_drain_is_left_in_doubt_and_logged()
    {
        var worker = await _rig.StartAsync(("Gateway:Settling:DrainTimeout", "2s"));
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var payment = _rig.Pay();
        await _rig.Default.HoldsAsync(1);
        var began = _rig.Clock.GetUtcNow();

        await _rig.StopsAsync(worker.StopAsync(CancellationToken.None), within: TimeSpan.FromSeconds(2.1));

        Assert.InRange(_rig.Clock.GetUtcNow() - began, TimeSpan.FromSeconds(2), TimeSpan.FromSeconds(2.1));
        Assert.Equal([payment], Stages.Open.Snapshot());
        Assert.True(payment.InDoubt);
        Assert.Contains("with 1 charges", Assert.Single(Stages.LogOf<SettlementWorker>()), StringComparison.Ordinal);
    }
}
