namespace PaymentGateway.Tests.Charging;

public sealed class SettlementWorkerTests : OneWorker
{
    [PostgresFact]
    public async Task Without_the_lease_nothing_is_charged_and_with_it_everything_goes_on()
    {
        await StartAsync();
        Stages.Epoch.Trust(Clock.GetTimestamp() - 1);
        Pay();
        await CheckAsync(times: 10);
        Assert.Equal((0, 0), await Rig.PostsAsync());

        Stages.Epoch.Trust(long.MaxValue);
        await CheckAsync(times: 1);

        await TakeOutcomesAsync(1);
    }

    [PostgresFact]
    public async Task While_the_ledger_is_behind_nothing_is_charged_and_with_capacity_charging_goes_on()
    {
        await StartAsync(("Gateway:Recording:MaxBuffered", "1"));
        var unwritten = new Settlement(Stages.Epoch, NewPayment(), Known.Default, 1990, Batches.Noon);
        Stages.Outcomes.Add(unwritten);
        Pay();
        await CheckAsync(times: 10);
        Assert.Equal((0, 0), await Rig.PostsAsync());

        Stages.Outcomes.Remove([unwritten]);
        await CheckAsync(times: 1);

        Assert.Equal(2, (await TakeOutcomesAsync(2)).Count);
        Assert.Equal((1, 0), await Rig.PostsAsync());
    }

    [PostgresFact]
    public async Task The_payments_of_an_ended_epoch_are_not_charged_and_delay_none_of_the_next()
    {
        await StartAsync();
        Stages.Epoch.Trust(0);
        for (var number = 0; number < 100; number++)
            Pay();
        var ended = Stages.Epoch;
        Stages.HoldLease(Epoch + 1);
        await Eventually.HoldsAsync(() => ended.IsAtRest, "nothing uses them any more");

        var mine = NewPayment(Epoch + 1);
        Stages.Add(mine);

        Assert.Same(mine, Assert.Single(await TakeOutcomesAsync(1)).Payment);
        Assert.Equal([mine], Stages.Open.Snapshot());
        Assert.Equal((1, 0), await Rig.PostsAsync());
    }

    [PostgresFact]
    public async Task Charges_begin_no_faster_than_the_rate_limit()
    {
        await StartAsync(("Gateway:Settling:MaxRate", "100"));
        for (var payment = 0; payment < 5; payment++)
            Pay();

        for (var charged = 1; charged <= 5; charged++)
        {
            await TakeOutcomesAsync(1);
            Assert.Equal((charged, 0), await Rig.PostsAsync());
            await AdvanceAsync(TimeSpan.FromMilliseconds(10), armed: charged < 5 ? 1 : 0);
        }
    }

    [PostgresFact]
    public async Task A_lone_payment_lingers_for_others_and_they_are_charged_together()
    {
        await StartAsync(("Gateway:Settling:Linger", "40ms"));
        // The first payment may be there before the worker begins to wait; afterwards the worker waits.
        Pay();
        await Clock.AdvancesUntilAsync(
            () => Stages.Outcomes.Count > 0, TimeSpan.FromMilliseconds(40), "the first one is settled");
        await TakeOutcomesAsync(1);
        Pay();
        await AdvanceAsync(TimeSpan.FromMilliseconds(39), armed: 1);
        Assert.Equal((1, 0), await Rig.PostsAsync());
        Pay();
        Pay();

        await AdvanceAsync(TimeSpan.FromMilliseconds(1), armed: 1);

        await TakeOutcomesAsync(3);
        Assert.Equal((4, 0), await Rig.PostsAsync());
    }

    [PostgresTheory]
    [InlineData(0)]
    [InlineData(3600)]   // The wall clock was that far ahead when the payment was accepted.
    public async Task After_the_fallback_delay_a_payment_goes_to_fallback_once_the_mark_is_committed(int aheadSeconds)
    {
        await StartAsync(("Gateway:Routing:FallbackAfter", "3s"));
        Stages.Default.Health.End(
            probe: false, latency: null, retryAfter: TimeSpan.FromMinutes(1));
        var acceptedAt = Timestamps.Truncate(Clock.GetUtcNow().UtcDateTime.AddSeconds(aheadSeconds));
        var payment = new Payment(Guid.NewGuid(), 1990, acceptedAt, Epoch);
        Stages.Add(payment);
        await CheckAsync(times: 59);
        Assert.False(Stages.Epoch.Wanted.Contains(Known.Fallback));

        await CheckAsync(times: 10);
        Assert.True(Stages.Epoch.Wanted.Contains(Known.Fallback));
        Assert.Equal((0, 0), await Rig.PostsAsync());
        Stages.Epoch.NoteStored(Known.AtBoth);
        await CheckAsync(times: 1);

        var settlement = Assert.Single(await TakeOutcomesAsync(1));
        Assert.Equal((payment, Stages.Fallback.Processor), (settlement.Payment, settlement.Processor));
        Assert.Equal((0, 1), await Rig.PostsAsync());
    }

    [PostgresTheory]
    [InlineData(false)]   // Another payment would take fallback.
    [InlineData(true)]    // Another payment would wait.
    public async Task A_payment_in_doubt_at_default_is_looked_up_there_and_not_charged_at_fallback(bool defaultFails)
    {
        await StartAsync();
        Stages.Epoch.NoteStored(Known.AtBoth);
        if (defaultFails)
            Stages.Default.Health.End(probe: true, latency: null, retryAfter: null);
        else
            DefaultSaysSlow();

        Stages.Add(NewDoubt());

        await Eventually.HoldsAsync(
            async () => (await Rig.Default.CallsAsync()).Lookups > 0, "default is asked for it");
        Assert.Equal(1, Stages.Doubts.Count);
        Assert.Equal((0, 0), await Rig.PostsAsync());
        Assert.Equal((0, 0), (Stages.Queue.Count, Stages.Outcomes.Count));
    }

    [PostgresFact]
    public async Task A_processor_with_8000_payments_in_doubt_is_charged_no_more_until_some_are_resolved()
    {
        await StartAsync();
        await Rig.Default.SetFaultsAsync(new { lookUp = "hang" });
        for (var doubt = 0; doubt < 8_000; doubt++)
            Stages.Doubts.Add(NewDoubt());

        Pay();
        for (var look = 0; look < 5; look++)
            await AdvanceAsync(PollInterval, armed: 17);   // 16 look-ups, and the worker.
        Assert.Equal((0, 0), await Rig.PostsAsync());

        await Rig.Default.ClearFaultsAsync();

        await Clock.AdvancesUntilAsync(() => Stages.Outcomes.Count > 0, PollInterval, "it is charged again");
    }

    [PostgresFact]
    public async Task A_refused_payment_is_tried_again_with_a_new_time_and_never_in_doubt()
    {
        await StartAsync();
        await Rig.Default.SetFailureAsync(true);
        var payment = Pay();
        await RestsAsync(payment);
        Assert.NotEqual(0, (await Rig.Default.CallsAsync()).Posts);
        await Rig.Default.SetFailureAsync(false);

        while (Stages.Outcomes.Count == 0)
            await CheckAsync(payment);

        Assert.Equal(0, Stages.Doubts.Count);
        var stored = Assert.Single(await Rig.Default.PaymentsAsync()).Value;
        Assert.True(stored.RequestedAt > payment.AcceptedAt, $"{stored.RequestedAt}");
        Assert.Equal(0, (await Rig.Fallback.CallsAsync()).Posts);
    }

    // The simulator's 429 says Retry-After: 1.
    [PostgresFact]
    public async Task After_a_429_one_call_follows_at_the_first_poll_past_each_pause()
    {
        await StartAsync();
        await Rig.Default.SetFaultsAsync(new { tooMany = true });
        var began = Clock.GetUtcNow();
        var calls = new List<double>();
        var payment = Pay();

        for (var look = 0; look <= 100; look++)
        {
            await RestsAsync(payment);
            while (calls.Count < (await Rig.Default.CallsAsync()).Posts)
                calls.Add((Clock.GetUtcNow() - began).TotalSeconds);
            Clock.Advance(PollInterval);
        }

        Assert.Equal([0, 1, 2, 3, 4, 5], calls);
        Assert.Equal(6, (await Rig.Default.CallsAsync()).Refused429);
        Assert.Equal(0, (await Rig.Fallback.CallsAsync()).Posts);
    }

    [PostgresFact]
    public async Task A_payment_in_doubt_is_not_parked_even_if_the_processor_calls_it_malformed()
    {
        await StartAsync();
        await Rig.Default.SetFaultsAsync(new { status = 400, times = 1 });

        Stages.Add(NewDoubt());

        await Eventually.HoldsAsync(async () => (await Rig.Default.CallsAsync()).Lookups > 0, "it is looked up");
        Assert.DoesNotContain(
            Stages.LogOf<OwnedPayments>(), line => line.Contains("is parked", StringComparison.Ordinal));
    }

    [PostgresFact]
    public async Task A_broken_answer_is_looked_up_and_not_charged_again()
    {
        await StartAsync();
        await Rig.Default.SetFaultsAsync(new { afterInsert = "reset", times = 1 });

        var payment = Pay();

        var settlement = Assert.Single(await TakeOutcomesAsync(1));
        Assert.Equal((payment, Stages.Default.Processor), (settlement.Payment, settlement.Processor));
        Assert.Equal((1, 0), await Rig.PostsAsync());
    }

    // Each repetition of its charge is in doubt anew, and default settles nothing that would show what its 404 is
    // worth.
    [PostgresFact]
    public async Task A_payment_that_default_breaks_each_time_is_settled_there_when_default_works_again()
    {
        await StartAsync();
        Stages.Epoch.NoteStored(Known.AtBoth);
        Pay();
        Stages.Outcomes.Remove(await TakeOutcomesAsync(1));
        await Rig.Default.SetFaultsAsync(new { garbage = true });
        var payment = Pay();
        var until = Clock.GetUtcNow() + TimeSpan.FromMinutes(2);
        await Clock.AdvancesUntilAsync(() => Clock.GetUtcNow() > until, 4 * PollInterval, "two minutes have passed");
        Assert.Equal((0, 0), (Stages.Outcomes.Count, (await Rig.PostsAsync()).Fallback));

        await Rig.Default.ClearFaultsAsync();

        await Clock.AdvancesUntilAsync(() => Stages.Outcomes.Count > 0, 4 * PollInterval, "it is settled");
        var settlement = Assert.Single(await TakeOutcomesAsync(1));
        Assert.Equal((payment, Stages.Default.Processor), (settlement.Payment, settlement.Processor));
    }

    [PostgresFact]
    public async Task As_many_charges_are_in_flight_as_there_are_permits_and_the_others_follow()
    {
        await StartAsync(("Gateway:Settling:MaxConcurrency", "2"));
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        for (var payment = 0; payment < 5; payment++)
            Pay();
        await Rig.Default.HoldsAsync(2);
        // Two time limits and the worker's next look.
        for (var look = 0; look < 5; look++)
            await AdvanceAsync(PollInterval, armed: 3);
        Assert.Equal((2, 0), await Rig.PostsAsync());

        await Rig.Default.ClearFaultsAsync();

        Assert.Equal(5, (await TakeOutcomesAsync(5)).Count);
        Assert.Equal((5, 0), await Rig.PostsAsync());
    }

    [PostgresFact]
    public async Task A_stop_accepts_no_more_and_charges_the_queued_payments()
    {
        var worker = await StartAsync(("Gateway:Settling:DrainTimeout", "5m"));
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        for (var payment = 0; payment < 3; payment++)
            Pay();
        await Rig.Default.HoldsAsync(1);

        var stop = worker.StopAsync(CancellationToken.None);
        Assert.False(Stages.Queue.TryAdd(NewPayment()));
        Assert.False(stop.IsCompleted);
        await Rig.Default.ClearFaultsAsync();
        Assert.Equal(3, (await TakeOutcomesAsync(3)).Count);
        await StopsAsync(stop, within: TimeSpan.FromMinutes(5));

        Assert.Empty(Stages.LogOf<SettlementWorker>());
    }

    [PostgresFact]
    public async Task A_stop_hands_over_at_once_the_payments_that_no_processor_takes()
    {
        var worker = await StartAsync(("Gateway:Settling:DrainTimeout", "5s"));
        DefaultSaysSlow();
        var payment = Pay();
        await CheckAsync(times: 1);

        await StopsAsync(worker.StopAsync(CancellationToken.None), within: TimeSpan.FromSeconds(0.5));

        Assert.Equal([payment], Stages.Open.Snapshot());
        Assert.False(payment.MayBeStored);
        Assert.Equal((0, 0), await Rig.PostsAsync());
    }

    [PostgresFact]
    public async Task A_charge_that_outlasts_the_drain_is_left_in_doubt_and_logged()
    {
        var worker = await StartAsync(("Gateway:Settling:DrainTimeout", "2s"));
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang", times = 1 });
        var payment = Pay();
        await Rig.Default.HoldsAsync(1);
        var began = Clock.GetUtcNow();

        await StopsAsync(worker.StopAsync(CancellationToken.None), within: TimeSpan.FromSeconds(2.1));

        Assert.InRange(Clock.GetUtcNow() - began, TimeSpan.FromSeconds(2), TimeSpan.FromSeconds(2.1));
        Assert.Equal([payment], Stages.Open.Snapshot());
        Assert.True(payment.MayBeStored);
        Assert.Contains("with 1 charges", Assert.Single(Stages.LogOf<SettlementWorker>()), StringComparison.Ordinal);
    }

    private Payment NewDoubt()
    {
        var payment = NewPayment();
        payment.Adopt(Known.AtDefault, Clock.GetTimestamp());
        return payment;
    }
}
