using System.Reflection;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using PaymentGateway.Hosting;
using PaymentGateway.Operator;

namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// A process of the gateway without its listener: the parts of <see cref="StageSetup"/> and
/// <see cref="OperatorSetup"/>, on an actor's clock and continuations, with links to the database and connections to
/// the processors that the schedule breaks.
/// </summary>
internal sealed class SimulatedInstance : IDisposable
{
    private readonly SimulatedCluster _cluster;
    private readonly DirectoryInfo _directory;
    private readonly Socket _listener = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
    private readonly InstanceLock _lock;
    private readonly ServiceProvider _parts;
    private readonly IHostedService[] _hosted;

    public SimulatedInstance(SimulatedCluster cluster, int who, SimulatedDatabase database)
    {
        (_cluster, Who, Actor, ShakenAt) = (cluster, who, new Actor(cluster.Time), cluster.Time.Now);
        _directory = Directory.CreateTempSubdirectory("sim");
        _listener.Bind(new UnixDomainSocketEndPoint(Path.Combine(_directory.FullName, ".s.PGSQL.5432")));
        _listener.Listen();
        var options = cluster.Knobs.Options(database.Through(_directory.FullName));
        // The first one proves by its socket that an earlier process has ended; the others wait for its lease.
        _lock = InstanceLock.Take(who == 0 ? $"http://unix:{cluster.Socket}" : null, $"instance {who}");
        var parts = new ServiceCollection();
        parts.AddSingleton(typeof(ILogger<>), typeof(TracedLog<>));
        parts.AddStages(options, _lock, Actor);
        parts.AddOperator(TestSettings.ReaderOf());
        parts.AddSingleton<IHttpMessageHandlerFactory>(new Handlers(this));
        parts.AddSingleton(this);
        _parts = parts.BuildServiceProvider();
        _hosted = [.. _parts.GetServices<IHostedService>()];
        SeedJitter();
        EndRealLimits();
        Actor.Continuations.Post(_ => Start(), null);
    }

    public int Who { get; }

    public Actor Actor { get; }

    public List<DatabaseLink> Links { get; } = [];

    /// <summary>Takes no request any more.</summary>
    public bool IsStopping { get; private set; }

    /// <summary>Its statements are not executed now.</summary>
    public bool IsStalled { get; set; }

    /// <summary>When it last continued, or the database was out of its reach.</summary>
    public TimeSpan DisturbedAt { get; set; }

    /// <summary>When anything last happened to it, beside what processors do.</summary>
    public TimeSpan ShakenAt { get; set; }

    public Epoch Epoch => Part<Lease>().Current;

    public T Part<T>() where T : notnull => _parts.GetRequiredService<T>();

    /// <summary>Goes on by itself.</summary>
    public bool IsFree => !Actor.IsDead && !Actor.IsFrozen && !IsStalled && !IsStopping;

    public void Trace(string line) => _cluster.Trace($"{Who}: {line}");

    public void Mark(string mark) => _cluster.Marks.Reach(mark);

    /// <summary>Takes what it has sent to the database.</summary>
    /// <returns>True when there was something.</returns>
    public bool ReadLinks()
    {
        if (!DatabaseLink.AnyIsReadable([(int)_listener.Handle, .. Links.Select(link => link.Descriptor)]))
            return false;

        var any = false;
        while (!Actor.IsDead && _listener.Poll(0, SelectMode.SelectRead))
        {
            Links.Add(_cluster.Link(_listener.Accept()));
            any = true;
        }

        // One by one, because several greetings would be read in any order.
        any |= Links.Exists(link => link.Read());
        Links.RemoveAll(link => link is { IsClosed: true, IsUncommitted: false, IsDelayed: false });
        return any;
    }

    /// <summary>Breaks every connection to the database.</summary>
    public void Cut() => Links.ForEach(link => link.Dispose());

    /// <summary>As SIGKILL does. Its calls at the processors go on.</summary>
    public void Kill()
    {
        Actor.Die();
        Cut();
        _lock.Dispose();
    }

    /// <summary>As SIGTERM does.</summary>
    public void Stop()
    {
        IsStopping = true;
        Actor.Continuations.Post(async _ =>
        {
            using var limit = new CancellationTokenSource(TimeSpan.FromSeconds(10), Actor);
            foreach (var part in Enumerable.Reverse(_hosted))
                await part.StopAsync(limit.Token);
            Trace("stopped");
            Kill();
        }, null);
    }

    public void Dispose()
    {
        Kill();
        _listener.Dispose();
        _directory.Delete(recursive: true);
        // It waits for nothing of the simulation.
        _ = Task.Run(async () => await _parts.DisposeAsync());
    }

    // As the host starts them. From .NET 10 on BackgroundService would have the loops run in the pool.
    private void Start()
    {
        Part<Lease>().CheckSoon.Set();
        foreach (var part in _hosted.OfType<BackgroundService>()
            .Where(part => _cluster.Knobs.PollsHealth || part is not HealthMonitor))
        {
            var stopping = new CancellationTokenSource();
            Field<BackgroundService>("_stoppingCts").SetValue(part, stopping);
            var execute = part.GetType().GetMethod("ExecuteAsync", BindingFlags.Instance | BindingFlags.NonPublic)!;
            Field<BackgroundService>("_executeTask").SetValue(part, execute.Invoke(part, [stopping.Token]));
        }
    }

    // It takes the process's number, and a replay has another one.
    private void SeedJitter()
    {
        var resolver = _hosted.OfType<DoubtResolver>().Single();
        Field<ResolvingWait>("_jitter").SetValue(
            Field<DoubtResolver>("_wait").GetValue(resolver), new Random(_cluster.Seed + Who));
    }

    // Npgsql counts the limit of a command in real time, in which no schedule is the same twice.
    private void EndRealLimits()
    {
        object[] pools =
        [
            Field<SharedConnections>("<pool>P").GetValue(Part<SharedConnections>())!,
            Field<SharedConnections>("<pool>P").GetValue(
                _parts.GetRequiredKeyedService<SharedConnections>(LeaseStore.Leases))!,
            Field<BatchConnections>("<pool>P").GetValue(Part<BatchConnections>())!,
        ];
        var settings = typeof(NpgsqlDataSource).GetProperty(
            "Settings", BindingFlags.Instance | BindingFlags.NonPublic)!;
        foreach (var pool in pools)
            ((NpgsqlConnectionStringBuilder)settings.GetValue(pool)!).CommandTimeout = 0;
    }

    private static FieldInfo Field<T>(string name) =>
        typeof(T).GetField(name, BindingFlags.Instance | BindingFlags.NonPublic)!;

    private sealed class Handlers(SimulatedInstance instance) : IHttpMessageHandlerFactory
    {
        public HttpMessageHandler CreateHandler(string name) =>
            instance._cluster.Processors.Single(
                one => name.StartsWith(one.Processor.Name, StringComparison.Ordinal)).ConnectionsOf(instance);
    }
}

/// <summary>Writes the log of an instance into the trace of the schedule.</summary>
internal sealed class TracedLog<T>(SimulatedInstance instance) : ILogger<T>
{
    public IDisposable? BeginScope<TState>(TState state) where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        instance.Trace(formatter(state, exception));
        instance.Mark($"log {eventId.Id}");
    }
}
