namespace PaymentGateway.Tools.Running;

/// <summary>Where a system that is being started, or runs, has its things.</summary>
internal sealed record SystemLayout(
    SystemSettings Settings, RunFolder Folder, string ShortDirectory, string DataDirectory)
{
    public string PostgresSocketDirectory => Path.Combine(ShortDirectory, "postgres");

    public string SocketDirectory => Path.Combine(ShortDirectory, "sockets");

    /// <summary>Of the server's own socket, also where a relay stands before it.</summary>
    public string ConnectionString => Settings.ConnectionString(PostgresSocketDirectory);

    public string SocketOf(string instance) => Path.Combine(SocketDirectory, $"{instance}.sock");
}
