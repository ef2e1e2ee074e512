namespace PaymentGateway.Tools.Running;

/// <summary>The whole system as processes of this machine, in one RUN_DIR; several live side by side.</summary>
public sealed class NativeSystem(SystemSettings given, TextWriter? output = null)
{
    private readonly TextWriter output = output ?? TextWriter.Null;

    public SystemSettings Settings => given;

    public IReadOnlyList<string> Parts => throw new NotImplementedException();

    public string Url => throw new NotImplementedException();

    public string DefaultUrl => throw new NotImplementedException();

    public string FallbackUrl => throw new NotImplementedException();

    public string ConnectionString => throw new NotImplementedException();

    /// <summary>Of the server's own socket.</summary>
    public string PostgresSocketDirectory => throw new NotImplementedException();

    public string DataDirectory => throw new NotImplementedException();

    public string RunDirectory => throw new NotImplementedException();

    public string LogDirectory => throw new NotImplementedException();

    /// <summary>The file system.env, for programs: key=value lines.</summary>
    public string EnvironmentFile => throw new NotImplementedException();

    public string SocketOf(string instance) => throw new NotImplementedException();

    public string LogOf(string part) => throw new NotImplementedException();

    /// <summary>Null when it does not run.</summary>
    public int? PidOf(string part) => throw new NotImplementedException();

    /// <summary>The parts that run, with their pids.</summary>
    public IReadOnlyDictionary<string, int> Pids() => throw new NotImplementedException();

    /// <summary>Starts all parts and returns when they take payments; broken off, it leaves nothing.</summary>
    public Task UpAsync(CancellationToken cancellation = default) => throw new NotImplementedException();

    /// <summary>Stops what runs and removes what only a running system needs. False when nothing ran.</summary>
    public Task<bool> DownAsync() => throw new NotImplementedException();

    /// <summary>Starts these parts; in an empty RUN_DIR a system that has only them.</summary>
    public Task StartAsync(params string[] parts) => throw new NotImplementedException();

    public Task StopAsync(params string[] parts) => throw new NotImplementedException();

    /// <summary>KILL returns when it is gone; any other signal is only sent.</summary>
    public Task KillAsync(string part, Signal signal = Signal.Kill) => throw new NotImplementedException();

    /// <summary>Stops every process of a part where it stands.</summary>
    public void Freeze(string part) => throw new NotImplementedException();

    public void Thaw(string part) => throw new NotImplementedException();
}
