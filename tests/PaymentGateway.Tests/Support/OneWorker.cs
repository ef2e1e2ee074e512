namespace PaymentGateway.Tests.Support;

/// <summary>Tests of one settlement worker with both processors, whose clock the test advances.</summary>
public abstract class OneWorker : OwnRig
{
    private protected const int Epoch = 1;

    private protected static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(50);

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);

    private protected WatchedClock Clock { get; } = new();

    private protected Stages Stages { get; private set; } = null!;

    public override async Task DisposeAsync()
    {
        await Rig.Default.ClearFaultsAsync();
        if (Stages is not null)
            await Stages.DisposeAsync();
        await base.DisposeAsync();
    }

    private protected async Task<SettlementWorker> StartAsync(params (string Key, string? Value)[] settings)
    {
        Stages = Stages.Build(
            Rig.Database.ConnectionString, Clock, urls: null,
        [
            ("Gateway:Processors:Default:BaseUrl", Rig.Default.BaseAddress.AbsoluteUri),
            ("Gateway:Processors:Fallback:BaseUrl", Rig.Fallback.BaseAddress.AbsoluteUri),
            ("Gateway:Settling:Linger", "0s"), .. settings,
        ]);
        Stages.HoldLease(Epoch);
        await Stages.StartAsync<DoubtResolver>();
        return await Stages.StartAsync<SettlementWorker>();
    }

    private protected Payment NewPayment(int epoch = Epoch) =>
        new(Guid.NewGuid(), 1990, Timestamps.Truncate(Clock.GetUtcNow().UtcDateTime), epoch);

    private protected Payment Pay()
    {
        var payment = NewPayment();
        Stages.Add(payment);
        return payment;
    }

    /// <summary>Then it is not usable, nor is it tried, for longer than any of these tests.</summary>
    private protected void DefaultSaysSlow() => Stages.Default.Health.Observe(
        new HealthReport(Failing: false, TimeSpan.FromSeconds(2), TimeSpan.Zero));

    private protected async Task<List<Settlement>> TakeOutcomesAsync(int count)
    {
        var (all, batch) = (new List<Settlement>(), new List<Settlement>());
        while (all.Count < count)
        {
            Assert.True(await Stages.Outcomes.TakeAsync(batch, CancellationToken.None).AsTask().WaitAsync(Limit));
            all.AddRange(batch);
            batch.Clear();
        }

        return all;
    }

    private protected async Task AdvanceAsync(TimeSpan time, int armed)
    {
        await Eventually.HoldsAsync(() => Clock.ArmedTimers == armed, $"{armed} timers are armed");
        Clock.Advance(time);
    }

    /// <summary>The worker holds a payment that no processor takes, and polls.</summary>
    private protected async Task CheckAsync(int times)
    {
        for (var poll = 0; poll < times; poll++)
            await AdvanceAsync(PollInterval, armed: 1);
    }

    /// <summary>The next poll with a payment that was refused, unless it is settled.</summary>
    private protected async Task CheckAsync(Payment payment)
    {
        await Eventually.HoldsAsync(
            () => Rests(payment) || Stages.Outcomes.Count > 0, "the payment waits, or is settled");
        Clock.Advance(PollInterval);
    }

    /// <summary>Waits until the worker waits with this payment, and no call is in flight.</summary>
    private protected Task RestsAsync(Payment payment) =>
        Eventually.HoldsAsync(() => Rests(payment), "the payment waits");

    // A call in flight has a timer as well.
    private bool Rests(Payment payment) => !payment.MayBeStored && Clock.ArmedTimers == 1;

    /// <summary>Lets time pass, poll by poll of the stop, until it has ended.</summary>
    private protected async Task StopsAsync(Task stop, TimeSpan within)
    {
        var (poll, until) = (PollInterval / 5, Clock.GetUtcNow() + within);
        while (!stop.IsCompleted)
        {
            Assert.True(Clock.GetUtcNow() < until, $"it has not stopped within {within}");
            await Eventually.HoldsAsync(() => Clock.WakesWithin(poll) || stop.IsCompleted, "the stop waits or is over");
            Clock.Advance(poll);
            // The end of a charge runs in a thread of its own, in real time.
            await Task.Delay(1);
        }

        await stop;
    }
}
