namespace PaymentGateway.Tools.Running;

/// <summary>One kind of part: how it is started, when it is ready, how it is stopped.</summary>
internal abstract class Part(string name)
{
    public string Name => name;

    /// <summary>How it is asked to stop: as compose asks it.</summary>
    public virtual Signal StopSignal => Signal.Terminate;

    /// <summary>After which it is killed.</summary>
    public virtual TimeSpan StopLimit => TimeSpan.FromSeconds(8);

    public static Part Named(string name) => name switch
    {
        _ when PartNames.Processors.Contains(name) => new SimulatorPart(name),
        PartNames.Postgres => new PostgresPart(),
        PartNames.First or PartNames.Second => new InstancePart(name),
        PartNames.Nginx => new NginxPart(),
        _ => throw new ToolException($"no such part: {name}"),
    };

    /// <summary>Refuses a start that cannot succeed.</summary>
    /// <exception cref="ToolException">Its program is missing, or its port is taken.</exception>
    public virtual void Check(SystemLayout system)
    {
    }

    public abstract Task LaunchAsync(SystemLayout system, PartLauncher launcher, CancellationToken cancellation);

    public abstract Task<bool> IsReadyAsync(SystemLayout system, CancellationToken cancellation);

    /// <summary>Returns when it is ready.</summary>
    /// <exception cref="ToolException">It ended instead, or took too long.</exception>
    public async Task AwaitAsync(SystemLayout system, CancellationToken cancellation)
    {
        var limit = system.Settings.ReadyLimit;
        var ready = await Waiting.HoldsAsync(
            limit,
            async () => await IsReadyAsync(system, cancellation) || (system.Folder.PidOf(name) is null
                ? throw Failure(system.Folder, name, "ended while it started")
                : false),
            cancellation);
        if (!ready)
            throw Failure(system.Folder, name, $"was not ready within {limit.TotalSeconds:0} s");
    }

    /// <summary>What happened to a part, with the last lines that it logged.</summary>
    public static ToolException Failure(RunFolder folder, string part, string what)
    {
        var log = folder.LogOf(part);
        var last = File.Exists(log) ? File.ReadLines(log).TakeLast(5) : [];
        string[] lines = [$"{part} {what}; log: {log}", .. last.Select(line => $"  | {line}")];
        return new ToolException(string.Join('\n', lines));
    }

    /// <summary>
    /// What only the operating system knows of a part that was killed: it has terminated when this returns.
    /// </summary>
    public virtual Task ClearAfterAsync(RunFolder folder) => Task.CompletedTask;
}

/// <summary>What the parts of a system are called, on the command line, in files and in compose.</summary>
public static class PartNames
{
    public const string Default = "default";
    public const string Fallback = "fallback";
    public const string Postgres = "postgres";
    public const string First = "api1";
    public const string Second = "api2";
    public const string Nginx = "nginx";

    public static IReadOnlyList<string> Instances { get; } = [First, Second];

    /// <summary>As many as PROCESSORS says are started, in this order; each is dearer than the one before.</summary>
    public static IReadOnlyList<string> Processors { get; } =
        [Default, Fallback, "third", "fourth", "fifth", "sixth", "seventh", "eighth"];

    /// <summary>Whose CPU and memory the challenge counts.</summary>
    public static IReadOnlyList<string> Counted { get; } = [Nginx, First, Second, Postgres];
}
