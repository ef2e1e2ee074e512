namespace PaymentGateway.Tests.Charging;

/// <summary>What proves that a processor has a payment, and what proves that it has not.</summary>
public sealed class ProofTests : OneWorker
{
    private const int StandsMs = 200;

    private static readonly TimeSpan Step = 4 * PollInterval;

    private OddProcessor _odd = null!;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _odd = await OddProcessor.StartAsync();
    }

    public override async Task DisposeAsync()
    {
        await base.DisposeAsync();
        await _odd.DisposeAsync();
    }

    [PostgresFact]
    public async Task A_payment_that_default_says_it_has_goes_nowhere_else_though_its_look_ups_answer_404()
    {
        await StartOddAsync();
        await SettleOneAsync();
        var posts = _odd.Posts;
        var payment = NewPayment();
        (_odd.LosesAnswer, _odd.Hides) = (id => id == payment.Id, id => id == payment.Id);
        Stages.Add(payment);
        await AdvancesUntilAsync(() => _odd.Duplicates > 0, "default says that it has the payment");
        _odd.IsFailing = true;

        await PassAsync(TimeSpan.FromMinutes(2));

        Assert.Equal((1, 0), (Stages.Doubts.Count, Stages.Outcomes.Count));
        Assert.Equal(0, (await Rig.PostsAsync()).Fallback);
        // The first charge, and the one that was answered by 422.
        Assert.Equal(posts + 2, _odd.Posts);
        Assert.Contains(
            Stages.ShownOf<DoubtResolver>(),
            line => Regex.IsMatch(line, $"{payment.Id} has been for [0-9]+ s, at default: .*422"));
        _odd.Hides = _ => false;
        await SettledAsync(payment, Known.Default);
    }

    // An ingress without its route, say. It answers the look-ups of what is certainly there by the same 404.
    [PostgresTheory]
    [InlineData(true)]
    [InlineData(false)]   // Nothing is known to be there yet.
    public async Task A_404_that_answers_every_look_up_releases_no_payment(bool isOneKnown)
    {
        await StartOddAsync();
        if (isOneKnown)
            await SettleOneAsync();
        var payment = NewPayment();
        _odd.LosesAnswer = id => id == payment.Id;
        _odd.Hides = _ => true;
        Stages.Add(payment);
        await Eventually.HoldsAsync(() => _odd.Stored.ContainsKey(payment.Id), "default has the payment");
        _odd.IsFailing = true;

        await PassAsync(TimeSpan.FromMinutes(2));

        Assert.Equal((1, 0), (Stages.Doubts.Count, Stages.Outcomes.Count));
        Assert.Equal(0, (await Rig.PostsAsync()).Fallback);
        _odd.Hides = _ => false;
        await SettledAsync(payment, Known.Default);
    }

    [PostgresTheory]
    [InlineData("", "NotFound")]
    [InlineData("404 page not found", "NotFound")]
    [InlineData("{\"title\":\"Not found\"}", "NotFound")]
    [InlineData("<html><h1>404 Not Found</h1></html>", "Unreadable")]
    [InlineData("\r\n <!DOCTYPE html>", "Unreadable")]
    public async Task A_404_with_a_page_is_no_answer(string body, string result)
    {
        await StartOddAsync();
        _odd.NotFound = body;

        Assert.Equal(result, $"{(await Stages.Default.Client.LookUpAsync(Guid.NewGuid())).Result}");
    }

    // A cache answers by what it kept, whatever the processor has stored since.
    [PostgresFact]
    public async Task A_404_of_a_cache_is_no_answer()
    {
        await StartOddAsync();
        _odd.NotFoundHeaders["Age"] = "7";

        Assert.Equal("Unreadable", $"{(await Stages.Default.Client.LookUpAsync(Guid.NewGuid())).Result}");
    }

    // A replay goes to the processor that rejected it, and is rejected again. Fallback has nothing to do with that.
    [PostgresFact]
    public async Task A_payment_that_its_processor_rejects_again_is_parked_after_the_horizon_and_goes_nowhere_else()
    {
        await StartOddAsync();
        var payment = NewDoubt();
        _odd.Rejects = id => id == payment.Id;
        Stages.Add(payment);

        await AdvancesUntilAsync(() => payment.Phase == PaymentPhase.Parked, "it is parked");

        Assert.Equal((1, 0), (_odd.Posts, (await Rig.PostsAsync()).Fallback));
        Assert.InRange(Clock.GetElapsedTime(payment.DoubtSince), Stages.Default.Horizon, TimeSpan.MaxValue);
    }

    [PostgresFact]
    public async Task A_pause_that_default_asks_for_delays_no_look_up_at_fallback()
    {
        await StartOddAsync();
        (_odd.NotFoundHeaders["Retry-After"], _odd.NotFound) = ("300", "<html>");
        var payment = NewPayment();
        payment.Adopt(Known.AtBoth, Clock.GetTimestamp());
        Stages.Open.Add(payment);
        Stages.Doubts.Add(payment);
        await AdvancesUntilAsync(() => _odd.LookUps > 0, "default asks for a pause");
        var lookUps = _odd.LookUps;

        await Rig.Fallback.PlantAsync([new ProcessorPayment(payment.Id, payment.Amount, Batches.Noon)]);

        var until = Clock.GetUtcNow() + TimeSpan.FromMinutes(1);
        await AdvancesUntilAsync(
            () => Stages.Outcomes.Count > 0 || Clock.GetUtcNow() > until, "it is settled, or a minute passed");
        Assert.Equal(Known.Fallback.Name, Assert.Single(await TakeOutcomesAsync(1)).Processor.Name);
        Assert.Equal(lookUps, _odd.LookUps);
    }

    [PostgresFact]
    public async Task A_404_beside_a_known_payment_that_is_found_releases_the_payment_past_the_horizon()
    {
        await StartOddAsync();
        await SettleOneAsync();
        var payment = NewPayment();
        _odd.LosesCharge = id => id == payment.Id;
        Stages.Add(payment);
        await Eventually.HoldsAsync(() => _odd.Posts > 1, "it is charged");

        // A replica that stopped following its primary would still find what was settled before this payment.
        await PassAsync(TimeSpan.FromMinutes(1));
        Assert.Equal((1, 0), (Stages.Doubts.Count, Stages.Outcomes.Count));

        var settled = new List<Settlement>();
        while (!settled.Exists(one => one.Payment == payment))
        {
            Assert.InRange(settled.Count, 0, 100);
            Pay();
            await PassAsync(TimeSpan.FromSeconds(1));
            var some = await TakeOutcomesAsync(1);
            Stages.Outcomes.Remove(some);
            settled.AddRange(some);
        }

        Assert.Equal(Known.Fallback.Name, settled.Single(one => one.Payment == payment).Processor.Name);
    }

    // A light load reaches one instance only, so no payment closes the circuits of the other one after an outage.
    [PostgresFact]
    public async Task A_doubt_where_both_circuits_are_open_ends_by_what_another_instance_charged_there_long_since()
    {
        await StartOddAsync();
        foreach (var lane in new[] { Stages.Default, Stages.Fallback })
            for (var failure = 0; failure < 2; failure++)
                lane.Health.End(probe: false, latency: null, retryAfter: null, failedAfter: TimeSpan.FromSeconds(1));
        var epoch = await Rig.Database.OpenEpochAsync();
        await ChargeElsewhereAsync(epoch, Clock.GetUtcNow().UtcDateTime);
        var payment = NewPayment();
        payment.Adopt(Known.AtBoth, Clock.GetTimestamp());
        Stages.Open.Add(payment);
        Stages.Doubts.Add(payment);

        // What was charged before the outage proves nothing: an old copy of the processor may answer since.
        await PassAsync(4 * Stages.Default.Horizon);
        Assert.Equal((1, 0), (Stages.Doubts.Count, Stages.Outcomes.Count));
        Assert.True(_odd.LookUps > 0);

        await ChargeElsewhereAsync(epoch, Clock.GetUtcNow().UtcDateTime);
        await PassAsync(Stages.Default.Horizon);
        await SettledAsync(payment, Known.Default);
    }

    // The same charge at the same processor is always safe, so nobody has to wait for a second payment.
    [PostgresFact]
    public async Task A_payment_alone_that_default_lost_is_charged_there_again_after_an_outage_of_any_length()
    {
        await StartOddAsync();
        var payment = NewPayment();
        _odd.LosesCharge = id => id == payment.Id;
        Stages.Add(payment);
        await Eventually.HoldsAsync(() => _odd.Posts > 0, "it is charged");
        await PassAsync(TimeSpan.FromMinutes(1));
        Assert.Equal(0, Stages.Outcomes.Count);

        _odd.LosesCharge = _ => false;

        await SettledAsync(payment, Known.Default);
        Assert.Equal(0, (await Rig.PostsAsync()).Fallback);
    }

    // However rare payments are, and however long default lasts: an ingress that lost its route, say.
    [PostgresFact]
    public async Task While_look_ups_of_doubts_fail_no_further_payment_is_a_probe_of_default()
    {
        await StartOddAsync();
        await SettleOneAsync();
        (_odd.LosesAnswer, _odd.Hides, _odd.NotFound) = (_ => true, _ => true, "<html>");
        Stages.Add(NewPayment());
        await PassAsync(TimeSpan.FromSeconds(5));
        Stages.Add(NewPayment());
        await AdvancesUntilAsync(
            () => Stages.Default.Health.Circuit == Circuit.Open, "two doubts have opened the circuit");
        await PassAsync(TimeSpan.FromSeconds(5));
        var posts = _odd.Posts;

        var payment = NewPayment();
        Stages.Add(payment);

        await SettledAsync(payment, Known.Fallback);
        Assert.Equal(posts, _odd.Posts);
        // Look-ups that are broken for good keep charges away for some minutes only.
        await PassAsync(TimeSpan.FromMinutes(6));
        Stages.Add(NewPayment());
        await AdvancesUntilAsync(() => _odd.Posts > posts, "default is tried again");
        // Their answers allow a probe again.
        (_odd.LosesAnswer, _odd.Hides) = (_ => false, _ => false);
        await AdvancesUntilAsync(() => Stages.Outcomes.Count == 3, "the doubts end");
        Stages.Outcomes.Remove(await TakeOutcomesAsync(3));
        await SettledAsync(Pay(), Known.Default);
    }

    [PostgresFact]
    public async Task What_fallback_finds_does_not_wait_for_default_that_is_silent()
    {
        const int count = 40;   // More than look-ups have permits.
        await StartAsync();
        await Rig.Default.SetFaultsAsync(new { lookUp = "hang" });
        var payments = Enumerable.Range(0, count).Select(_ => NewPayment()).ToList();
        await Rig.Fallback.PlantAsync(payments.Select(payment => new ProcessorPayment(
            payment.Id, payment.Amount, Batches.Noon)));
        foreach (var payment in payments)
        {
            payment.Adopt(Known.AtBoth, Clock.GetTimestamp());
            Stages.Open.Add(payment);
            Stages.Doubts.Add(payment);
        }

        // The clock stands still, so no call ends by its time limit.
        var settled = await TakeOutcomesAsync(count);

        Assert.All(settled, one => Assert.Equal(Stages.Fallback.Processor, one.Processor));
    }

    [PostgresFact]
    public async Task An_adopted_payment_joins_8000_doubts_at_its_processor_and_keeps_no_other_waiting()
    {
        await StartAsync(("Gateway:Routing:FallbackAfter", "0s"));
        Stages.Epoch.NoteStored(Known.AtBoth);
        await Rig.Default.SetFaultsAsync(new { lookUp = "hang" });
        for (var doubt = 0; doubt < 8_000; doubt++)
        {
            var inDoubt = NewDoubt();
            inDoubt.Doubt();
            Stages.Doubts.Add(inDoubt);
        }

        Stages.Add(NewDoubt());

        var payment = Pay();

        var settlement = Assert.Single(await TakeOutcomesAsync(1));
        Assert.Equal((payment, Stages.Fallback.Processor), (settlement.Payment, settlement.Processor));
        Assert.Equal(8_001, Stages.Doubts.CountAt(Known.Default));
    }

    private async Task StartOddAsync()
    {
        await StartAsync(("Gateway:Processors:Default:BaseUrl", _odd.BaseAddress.AbsoluteUri));
        Stages.Epoch.NoteStored(Known.AtBoth);
    }

    /// <summary>Another instance has settled a payment at each processor.</summary>
    private async Task ChargeElsewhereAsync(int epoch, DateTime requestedAt)
    {
        var at = Timestamps.Truncate(requestedAt);
        foreach (var processor in new[] { Known.Default, Known.Fallback })
        {
            var stored = await Rig.Database.StoreAsync(epoch, 1, at);
            await Rig.Database.Ledger.RecordAsync(Batches.ToRecord(stored, processor, at));
            if (processor == Known.Fallback)
                await Rig.Fallback.PlantAsync([new ProcessorPayment(stored.Ids[0], 19.9m, at)]);
            else
                _odd.Stored[stored.Ids[0]] =
                    $$"""{"correlationId":"{{stored.Ids[0]}}","amount":19.9,"requestedAt":"{{at:O}}"}""";
        }
    }

    private async Task SettleOneAsync() => await SettledAsync(Pay(), Known.Default);

    private async Task PassAsync(TimeSpan time)
    {
        var until = Clock.GetUtcNow() + time;
        await AdvancesUntilAsync(() => Clock.GetUtcNow() > until, $"{time} pass");
    }

    // While a charge is under way the clock stands still, otherwise a busy machine would make the processor slow by it.
    // A charge that is kept waiting on purpose ends by the clock, so it stands still for 200 real ms at most.
    private Task AdvancesUntilAsync(Func<bool> condition, string what) => Eventually.HoldsAsync(
        async () =>
        {
            var stood = Stopwatch.StartNew();
            while (stood.ElapsedMilliseconds < StandsMs
                && Stages.Part<ProcessorLanes>().All.Any(lane => lane.Read().InFlight > 0))
                await Task.Delay(1);
            Clock.Advance(Step);
            return condition();
        },
        what);

    private async Task SettledAsync(Payment payment, Processor processor)
    {
        await AdvancesUntilAsync(() => Stages.Outcomes.Count > 0, "it is settled");
        var settlement = Assert.Single(await TakeOutcomesAsync(1));
        Assert.Equal((payment, processor.Name), (settlement.Payment, settlement.Processor.Name));
        Stages.Outcomes.Remove([settlement]);
    }

    private Payment NewDoubt()
    {
        var payment = NewPayment();
        payment.Adopt(Known.AtDefault, Clock.GetTimestamp());
        return payment;
    }
}
