namespace PaymentGateway.Tools.Running;

/// <summary>
/// The whole system as processes of this machine, in one RUN_DIR; several live side by side. Its parts may be started,
/// stopped and killed from several tasks at once, each by one of them.
/// </summary>
/// <param name="output">Who hears what was stopped; nobody without it.</param>
public sealed class NativeSystem(SystemSettings given, TextWriter? output = null)
{
    private readonly TextWriter _output = output ?? TextWriter.Null;
    private readonly RunFolder _folder = new(given.RunDirectory);
    private readonly PartLauncher _launcher = new();
    private SystemLayout? _started;

    /// <summary>Those of the start, with the caller's on top.</summary>
    public SystemSettings Settings => (_started ?? Load())?.Settings ?? given;

    public IReadOnlyList<string> Parts => Settings.Parts;

    public string Url => Settings.Url;

    public string DefaultUrl => Settings.DefaultUrl;

    public string FallbackUrl => Settings.FallbackUrl;

    public string ConnectionString => Layout.ConnectionString;

    /// <summary>Of the server's own socket.</summary>
    public string PostgresSocketDirectory => Layout.PostgresSocketDirectory;

    public string RunDirectory => _folder.Path;

    public string LogDirectory => _folder.Logs;

    /// <summary>The file system.env, for programs: key=value lines.</summary>
    public string EnvironmentFile => _folder.EnvironmentFile;

    // What was started here stays known after its end: somebody may still ask where it was.
    private SystemLayout Layout => _started ??= Load() ?? throw new ToolException($"nothing runs in {_folder.Path}");

    public string SocketOf(string instance) => Layout.SocketOf(instance);

    public string LogOf(string part) => _folder.LogOf(part);

    /// <summary>What an instance is told by its environment, with the settings of the gateway.</summary>
    public IReadOnlyDictionary<string, string?> EnvironmentOf(string instance)
    {
        var environment = Layout.Settings.OfGateway().ToDictionary(pair => pair.Key, pair => (string?)pair.Value);
        foreach (var (name, value) in InstanceEnvironment.Of(Layout, instance))
            environment[name] = value;
        return environment;
    }

    /// <summary>Null when it does not run.</summary>
    public int? PidOf(string part) => _folder.PidOf(part);

    /// <summary>The parts that run, with their pids.</summary>
    public IReadOnlyDictionary<string, int> Pids()
    {
        var pids = new Dictionary<string, int>();
        foreach (var part in Parts)
            if (PidOf(part) is { } pid)
                pids[part] = pid;
        return pids;
    }

    /// <summary>Starts all parts and returns when they take payments; broken off, it leaves nothing.</summary>
    public Task UpAsync(CancellationToken cancellation = default) => UpAsync(inForeground: false, cancellation);

    /// <summary>Stops what runs and removes what only a running system needs. False when nothing ran.</summary>
    public async Task<bool> DownAsync()
    {
        var ran = _folder.HasPids();
        if (_folder.PidOf(RunFolder.Run) is { } run && run != Environment.ProcessId)
        {
            // `make run` in another terminal stops its own parts.
            Posix.Send(run, Signal.Terminate);
            await Waiting.UntilAsync(() => _folder.PidOf(RunFolder.Run) is null);
            await _output.WriteLineAsync("stopped make run");
        }

        await SystemStop.RemoveLeftoversAsync(_folder, _output);
        return ran;
    }

    /// <summary>Starts these parts; in an empty RUN_DIR a system that has only them.</summary>
    public async Task StartAsync(IReadOnlyList<string> parts, CancellationToken cancellation = default)
    {
        InstanceEnvironment.RefuseOverruled(given);
        if ((_started ??= Load()) is not { } system || !Directory.Exists(system.ShortDirectory))
        {
            await WhileBegunAsync(
                system => SystemStart.StartAsync(system, _launcher, parts, cancellation), inForeground: false);
            return;
        }

        foreach (var part in parts)
            if (_folder.PidOf(part) is not null)
                throw new ToolException($"{part} runs already");
        await SystemStart.StartAsync(system, _launcher, parts, cancellation);
    }

    public Task StartAsync(params string[] parts) => StartAsync(parts, CancellationToken.None);

    public async Task StopAsync(params string[] parts)
    {
        var system = LayoutOfRunning();
        await SystemStop.StopAsync(_folder, parts, _output);
        system.WriteEnvironmentFile();
    }

    /// <summary>kill -9; it has terminated on return.</summary>
    public async Task KillAsync(string part)
    {
        var system = LayoutOfRunning();
        await SystemStop.KillAsync(_folder, Part.Named(part), RequirePid(part));
        system.WriteEnvironmentFile();
    }

    internal int RequirePid(string part) =>
        _folder.PidOf(part) ?? throw new ToolException($"{part} does not run");

    /// <exception cref="ToolException">A system runs here, or what the caller says would be overruled.</exception>
    internal void RefuseStart()
    {
        InstanceEnvironment.RefuseOverruled(given);
        SystemStart.RefuseIfRunning(_folder);
    }

    internal Task UpAsync(bool inForeground, CancellationToken cancellation) => WhileBegunAsync(
        async system =>
        {
            SystemStart.Check(system);
            await SystemStart.StartAsync(system, _launcher, system.Settings.Parts, cancellation);
        },
        inForeground);

    /// <summary>Returns when any part has ended that this very object started: which, and what it logged.</summary>
    internal async Task<ToolException> FirstEndAsync(CancellationToken cancellation)
    {
        using var others = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        var ends = Parts.ToDictionary(part => _launcher.EndAsync(part, others.Token));
        var first = await Task.WhenAny(ends.Keys);
        await others.CancelAsync();
        return Part.Failure(_folder, ends[first], $"ended with status {await first}, so everything stops");
    }

    private async Task WhileBegunAsync(Func<SystemLayout, Task> start, bool inForeground)
    {
        RefuseStart();
        using var held = _folder.Lock();
        // Once more: another start may have ended since.
        SystemStart.RefuseIfRunning(_folder);
        try
        {
            _started = await SystemStart.BeginAsync(given, _folder, _output);
            if (inForeground)
                _folder.Remember(RunFolder.Run, Environment.ProcessId);
            await start(_started);
        }
        catch
        {
            await SystemStop.RemoveLeftoversAsync(_folder, _output);
            throw;
        }
    }

    private SystemLayout LayoutOfRunning() =>
        _folder.IsInUse ? Layout : throw new ToolException($"nothing runs in {_folder.Path}");

    private SystemLayout? Load() => _folder.Load() is { } saved
        ? new SystemLayout(given.Over(saved.Variables), _folder, saved.ShortDirectory, saved.DataDirectory)
        : null;
}
