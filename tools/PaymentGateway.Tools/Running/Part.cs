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
        PartNames.Default or PartNames.Fallback => new SimulatorPart(name),
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
        var waited = new Waiting(system.Settings.ReadyLimit);
        while (!await IsReadyAsync(system, cancellation))
        {
            if (system.Folder.PidOf(name) is null)
                throw PartReport.Of(system.Folder, name, "ended while it started");
            if (waited.IsOver)
                throw PartReport.Of(
                    system.Folder, name, $"was not ready within {system.Settings.ReadyLimit.TotalSeconds:0} s");
            await Waiting.PauseAsync(cancellation);
        }
    }

    /// <summary>
    /// What only the operating system knows of a part that was killed: it has terminated when this returns.
    /// </summary>
    public virtual Task ClearAfterAsync(RunFolder folder) => Task.CompletedTask;
}
