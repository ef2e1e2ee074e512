using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using PaymentGateway.Hosting;
using PaymentGateway.Operator;

namespace PaymentGateway.Tests.Support;

/// <summary>
/// The parts of one instance, by <see cref="StageSetup"/> and <see cref="OperatorSetup"/>; a test starts what it is
/// about.
/// </summary>
internal sealed class Stages : IAsyncDisposable
{
    private readonly ServiceProvider _services;
    private readonly InstanceLock _instance;
    private readonly List<BackgroundService> _started = [];

    /// <summary>The processors of stages, as a lease names them.</summary>
    public const string Processors = "default=http://127.0.0.1:9/ fallback=http://127.0.0.2:9/";

    private Stages(ServiceProvider services, InstanceLock instance, TimeProvider clock) =>
        (_services, _instance, Clock) = (services, instance, clock);

    /// <param name="urls">Where the instance would listen; without a socket it proves nothing of earlier ones.</param>
    /// <param name="settings">As in <c>("Gateway:Settling:Linger", "0s")</c>.</param>
    public static Stages Build(
        string ledger, TimeProvider clock, string? urls, params (string Key, string? Value)[] settings)
    {
        // Nobody listens at port 9.
        var options = TestSettings.Read(
        [
            ("ConnectionStrings:Ledger", ledger), ("Gateway:Storage:Profile", "Unlogged"),
            ("Gateway:Recording:Linger", "0s"),
            ("Gateway:Processors:Default:BaseUrl", "http://127.0.0.1:9"),
            ("Gateway:Processors:Fallback:BaseUrl", "http://127.0.0.2:9"), .. settings,
        ]);
        // As an instance's first lease finds them.
        foreach (var one in options.Processors.All)
            one.Processor.Id = one.Processor.Name == "default" ? (short)1 : (short)2;
        var instance = InstanceLock.Take(urls, "tests");
        var parts = new ServiceCollection();
        parts.AddSingleton(typeof(ILogger<>), typeof(LogLines<>));
        parts.AddStages(options, instance, clock);
        parts.AddOperator(TestSettings.ReaderOf());
        return new Stages(parts.BuildServiceProvider(), instance, clock);
    }

    /// <summary>Without a ledger, for calls of processors; epoch 1 is held until a test ends it.</summary>
    /// <param name="fallbackUrl">May be that of default: two names for one host are two processors.</param>
    public static Stages BuildLanes(
        Uri defaultUrl, Uri fallbackUrl, TimeProvider clock, params (string Key, string? Value)[] settings)
    {
        var stages = Build(
            "Host=/nowhere", clock, urls: null,
            [
                ("Gateway:Processors:Default:BaseUrl", defaultUrl.AbsoluteUri),
                ("Gateway:Processors:Fallback:BaseUrl", fallbackUrl == defaultUrl
                    ? new UriBuilder(fallbackUrl) { Host = "localhost" }.Uri.AbsoluteUri
                    : fallbackUrl.AbsoluteUri),
                .. settings,
            ]);
        stages.HoldLease(epoch: 1);
        return stages;
    }

    public TimeProvider Clock { get; }

    public Lease Lease => Part<Lease>();

    public UnsettledPayments Open => Epoch.Unsettled;

    public PaymentQueue Queue => Epoch.Queue;

    public UnwrittenOutcomes Outcomes => Part<UnwrittenOutcomes>();

    public DoubtQueue Doubts => Epoch.Doubts;

    public DoubtNotes Notes => Part<DoubtNotes>();

    public ProcessorLane Default => Part<ProcessorLanes>().Of(Known.Default);

    public ProcessorLane Fallback => Part<ProcessorLanes>().Of(Known.Fallback);

    public Epoch Epoch => Part<Lease>().Current;

    public T Part<T>() where T : notnull => _services.GetRequiredService<T>();

    public IReadOnlyCollection<string> LogOf<T>() => ((LogLines<T>)Part<ILogger<T>>()).Lines;

    /// <summary>Lines of a part at Information or above.</summary>
    public IReadOnlyCollection<string> ShownOf<T>() => ((LogLines<T>)Part<ILogger<T>>()).Shown;

    /// <summary>Starts a part; it is stopped, and not waited for, when the stages are disposed.</summary>
    public async Task<T> StartAsync<T>() where T : BackgroundService
    {
        var part = _services.GetServices<IHostedService>().OfType<T>().Single();
        _started.Add(part);
        await part.StartAsync(CancellationToken.None);
        return part;
    }

    /// <summary>The instance holds the lease of this epoch for as long as a test takes.</summary>
    public void HoldLease(int epoch) => Lease.Begin(
        epoch, LedgerState.Unknown, Known.AtDefault, Clock.GetTimestamp() + Clock.TicksOf(TimeSpan.FromDays(1)));

    /// <summary>Queues a payment as if it had just been stored.</summary>
    public void Add(Payment payment)
    {
        Open.Add(payment);
        Assert.True(Queue.TryAdd(payment));
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var part in _started)
            await part.StopAsync(new CancellationToken(canceled: true));
        await _services.DisposeAsync();
        _instance.Dispose();
    }
}
