namespace PaymentGateway.Tests.Support;

/// <summary>The real system as processes: parts can be stopped, killed and started singly.</summary>
public sealed class GatewaySystem : IAsyncDisposable, IComparedSystem
{
    public const string First = PartNames.First;
    public const string Second = PartNames.Second;

    // nginx answers after 6 s at the latest: it waits 3 s for an instance, and then for the other one.
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan TimeLimit = TimeSpan.FromSeconds(90);
    private static readonly ConcurrentDictionary<NativeSystem, bool> Running = new();

    private readonly NativeSystem _native;
    private readonly GatewaySystemRelays? _relays;
    private IReadOnlyDictionary<string, int> _pids = new Dictionary<string, int>();

    // A test run that is broken off stops its systems too.
    static GatewaySystem() => AppDomain.CurrentDomain.ProcessExit += (_, _) =>
        Task.WhenAll(Running.Keys.Select(system => system.DownAsync())).Wait(TimeSpan.FromSeconds(10));

    private GatewaySystem(NativeSystem native, GatewaySystemRelays? relays)
    {
        _native = native;
        _relays = relays;
    }

    /// <summary>Through nginx, as clients come.</summary>
    public HttpClient Client { get; private set; } = null!;

    public HttpClient Api1 { get; private set; } = null!;

    public HttpClient Api2 { get; private set; } = null!;

    /// <summary>In the order of their fees.</summary>
    public IReadOnlyDictionary<string, SimulatedProcessor> Processors { get; private set; } =
        new Dictionary<string, SimulatedProcessor>();

    public SimulatedProcessor Default => Processors[PartNames.Default];

    public SimulatedProcessor Fallback => Processors[PartNames.Fallback];

    public GatewaySystemDatabase Database { get; private set; } = null!;

    public GatewaySystemRelays Relays =>
        _relays ?? throw new InvalidOperationException("This system was started without relays.");

    public Uri Address => Client.BaseAddress!;

    /// <summary>The gateway's to PostgreSQL, past a relay.</summary>
    public string ConnectionString => _native.ConnectionString;

    /// <summary>Starts a system and waits until it takes payments.</summary>
    /// <param name="settings">Variables of `make help` or of the gateway: Gateway__Routing__FallbackAfter.</param>
    public static Task<GatewaySystem> UpAsync(params (string Name, string Value)[] settings) =>
        UpAsync(new GatewaySystem(new NativeSystem(GatewaySystemSettings.Of(settings)), relays: null));

    /// <summary>Starts a system with a relay on each connection of the instances.</summary>
    public static Task<GatewaySystem> UpWithRelaysAsync(params (string Name, string Value)[] settings)
    {
        NativeSystem? native = null;
        var relays = new GatewaySystemRelays(
            GatewaySystemSettings.Of(settings), () => native!.PostgresSocketDirectory);
        native = new NativeSystem(relays.Settings);
        return UpAsync(new GatewaySystem(native, relays));
    }

    public Task StartAsync(params string[] parts) => ChangeAsync(_native.StartAsync(parts));

    public Task StopAsync(params string[] parts) => ChangeAsync(_native.StopAsync(parts));

    /// <summary>kill -9, and it has terminated on return.</summary>
    public Task KillAsync(string part) => ChangeAsync(_native.KillAsync(part));

    /// <summary>As after the last start, stop or kill: what ended by itself since still counts.</summary>
    public bool Runs(string part) => _pids.ContainsKey(part);

    public int PidOf(string part) => _pids[part];

    public string SocketOf(string part) => _native.SocketOf(part);

    public string ReadLog(string part) => File.ReadAllText(_native.LogOf(part));

    public IEnumerable<HttpClient> RunningInstances()
    {
        if (Runs(First))
            yield return Api1;
        if (Runs(Second))
            yield return Api2;
    }

    /// <summary>Starts a stopped instance as a child of the tests, so that its exit code can be seen.</summary>
    /// <param name="under">A program, with arguments, that starts it in its own place, such as prlimit.</param>
    public GatewaySystemInstance StartChild(string part, params string[] under) =>
        GatewaySystemInstance.Start(ChildSettings(part), under);

    public Dictionary<string, string?> ChildSettings(string part) => new(_native.EnvironmentOf(part));

    /// <summary>Both instances run and know that default is usable; all ledgers are empty.</summary>
    public async Task ResetAsync()
    {
        string[] stopped = [.. new[] { First, Second }.Where(part => !Runs(part))];
        if (stopped.Length > 0)
            await StartAsync(stopped);
        foreach (var processor in Processors.Values)
            await processor.HealAsync();

        var probes = new LoadLedger();
        foreach (var instance in RunningInstances())
            await LoadDriver.PostAsync(instance, probes);
        await Eventually.HoldsAsync(this.IsIdleAsync, "nothing is in flight from the test before");

        await Eventually.HoldsAsync(IsPurgedAsync, "the ledger is empty");
        foreach (var processor in Processors.Values)
            await processor.PurgeAsync();
    }

    // 503: it was not within 2 s.
    private async Task<bool> IsPurgedAsync()
    {
        using var purged = await Client.PostAsync("purge-payments", null);
        return purged.StatusCode != HttpStatusCode.ServiceUnavailable
            && purged.EnsureSuccessStatusCode().IsSuccessStatusCode;
    }

    public async ValueTask DisposeAsync()
    {
        Client?.Dispose();
        Api1?.Dispose();
        Api2?.Dispose();
        foreach (var processor in Processors.Values)
            await processor.DisposeAsync();
        Database?.Thaw();
        await EndAsync();
    }

    private static async Task<GatewaySystem> UpAsync(GatewaySystem system)
    {
        Running[system._native] = true;
        try
        {
            using var limit = new CancellationTokenSource(TimeLimit);
            await system._native.UpAsync(limit.Token);
        }
        catch
        {
            await system.EndAsync();
            throw;
        }

        system.Attach();
        return system;
    }

    private async Task ChangeAsync(Task change)
    {
        try
        {
            await change.WaitAsync(TimeLimit);
        }
        finally
        {
            // A start that failed may have left its part running, and whoever heals must not start it once more.
            _pids = _native.Pids();
        }
    }

    private async Task EndAsync()
    {
        await _native.DownAsync().WaitAsync(TimeLimit);
        Running.TryRemove(_native, out _);
        if (Directory.Exists(_native.RunDirectory))
            Directory.Delete(_native.RunDirectory, recursive: true);
        if (_relays is not null)
            await _relays.DisposeAsync();
    }

    private void Attach()
    {
        _pids = _native.Pids();
        Client = UnixHttp.Plain(new Uri(_native.Url));
        Api1 = UnixHttp.To(_native.SocketOf(First));
        Api2 = UnixHttp.To(_native.SocketOf(Second));
        foreach (var http in new[] { Client, Api1, Api2 })
            http.Timeout = AnswerLimit;
        Processors = _native.Settings.Processors.ToDictionary(
            name => name, name => SimulatedProcessor.Attach(new Uri(_native.Settings.UrlOf(name))));
        Database = new GatewaySystemDatabase(_native.ConnectionString, () => PidOf(PartNames.Postgres));
    }
}
