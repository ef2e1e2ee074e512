using PaymentGateway.Processors;

namespace PaymentGateway.Tests.Support;

/// <summary>A settlement worker with both processors, whose clock the test advances.</summary>
internal sealed class WorkerRig
{
    public const int Epoch = 1;

    public static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(50);

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);

    public TestDatabase Database { get; } = new();

    public WatchedClock Clock { get; } = new();

    public SimulatedProcessor Default { get; private set; } = null!;

    public SimulatedProcessor Fallback { get; private set; } = null!;

    public Stages Stages { get; private set; } = null!;

    public async Task InitializeAsync()
    {
        await Database.InitializeAsync();
        Default = await SimulatedProcessor.StartAsync();
        Fallback = await SimulatedProcessor.StartAsync();
    }

    public async Task DisposeAsync()
    {
        await Default.ClearFaultsAsync();
        if (Stages is not null)
            await Stages.DisposeAsync();
        await Default.DisposeAsync();
        await Fallback.DisposeAsync();
        await Database.DisposeAsync();
    }

    public Task<SettlementWorker> StartAsync(params (string Key, string? Value)[] settings) =>
        StartAsync(Epoch, isHeld: true, settings);

    public Task<SettlementWorker> StartAsync(bool isHeld) => StartAsync(Epoch, isHeld, []);

    public Task<SettlementWorker> StartAsync(int epoch) => StartAsync(epoch, isHeld: true, []);

    private async Task<SettlementWorker> StartAsync(int epoch, bool isHeld, (string Key, string? Value)[] settings)
    {
        Stages = Stages.Build(
            Database.ConnectionString, Clock, urls: null,
        [
            ("Gateway:Processors:Default:BaseUrl", Default.BaseAddress.AbsoluteUri),
            ("Gateway:Processors:Fallback:BaseUrl", Fallback.BaseAddress.AbsoluteUri),
            ("Gateway:Settling:Linger", "0s"), .. settings,
        ]);
        if (isHeld)
            Stages.HoldLease(epoch);
        else
            Stages.Lease.Confirm(epoch, Clock.GetTimestamp() - Clock.TicksOf(TimeSpan.FromHours(1)));
        await Stages.StartAsync<DoubtResolver>();
        return await Stages.StartAsync<SettlementWorker>();
    }

    public Payment NewPayment(int epoch = Epoch) =>
        new(Guid.NewGuid(), 1990, Timestamps.Truncate(Clock.GetUtcNow().UtcDateTime), epoch);

    public Payment Pay()
    {
        var payment = NewPayment();
        Add(payment);
        return payment;
    }

    public void Add(Payment payment)
    {
        Stages.Open.Add(payment);
        Assert.True(Stages.Queue.TryAdd(payment));
    }

    /// <summary>
    /// Settles a payment that may have been there before the worker began to wait. Afterwards the worker waits.
    /// </summary>
    public async Task SettleFirstAsync(TimeSpan linger)
    {
        Pay();
        await Eventually.HoldsAsync(
            () =>
            {
                Clock.Advance(linger);
                return Stages.Outcomes.Count > 0;
            },
            "the first one is settled");
        await TakeOutcomesAsync(1);
    }

    /// <summary>Then it is not usable, nor is it tried, for longer than any of these tests.</summary>
    public void DefaultSaysSlow() => Stages.Part<ProcessorLanes>().Default.Health.Observe(
        new HealthReport(Failing: false, TimeSpan.FromSeconds(2), TimeSpan.Zero));

    public async Task<(long Default, long Fallback)> PostsAsync() =>
        ((await Default.CallsAsync()).Posts, (await Fallback.CallsAsync()).Posts);

    public async Task<List<Settlement>> TakeOutcomesAsync(int count)
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

    /// <summary>Lets time pass when so many timers wait for it.</summary>
    public async Task AdvanceAsync(TimeSpan time, int armed)
    {
        await Eventually.HoldsAsync(() => Clock.ArmedTimers == armed, $"{armed} timers are armed");
        Clock.Advance(time);
    }

    /// <summary>The worker holds a payment that no processor takes, and polls.</summary>
    public async Task CheckAsync(int times)
    {
        for (var poll = 0; poll < times; poll++)
            await AdvanceAsync(PollInterval, armed: 1);
    }

    /// <summary>The next poll with a payment that was refused, unless it is settled.</summary>
    public async Task CheckAsync(Payment payment)
    {
        await Eventually.HoldsAsync(
            () => Rests(payment) || Stages.Outcomes.Count > 0, "the payment waits, or is settled");
        Clock.Advance(PollInterval);
    }

    /// <summary>Waits until the worker waits with this payment, and no call is in flight.</summary>
    public Task RestsAsync(Payment payment) => Eventually.HoldsAsync(() => Rests(payment), "the payment waits");

    // A call in flight has a timer as well.
    private bool Rests(Payment payment) => !payment.InDoubt && Clock.ArmedTimers == 1;

    /// <summary>Lets time pass, poll by poll of the stop, until it has ended.</summary>
    public async Task StopsAsync(Task stop, TimeSpan within)
    {
        var (poll, until) = (PollInterval / 5, Clock.GetUtcNow() + within);
        while (!stop.IsCompleted)
        {
            Assert.True(Clock.GetUtcNow() < until, $"it has not stopped within {within}");
            await Eventually.HoldsAsync(() => Clock.WakesWithin(poll) || stop.IsCompleted, "the stop waits or is over");
            Clock.Advance(poll);
            // What ends a charge runs in a thread of its own, in time that does not pass by hand.
            await Task.Delay(1);
        }

        await stop;
    }
}
