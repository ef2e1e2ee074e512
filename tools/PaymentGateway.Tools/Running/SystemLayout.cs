namespace PaymentGateway.Tools.Running;

/// <summary>Where a system that is being started, or runs, has its things.</summary>
internal sealed record SystemLayout(
    SystemSettings Settings, RunFolder Folder, string ShortDirectory, string DataDirectory)
{
    public string PostgresSocketDirectory => Path.Combine(ShortDirectory, "postgres");

    public string SocketDirectory => Path.Combine(ShortDirectory, "sockets");

    /// <summary>Of the server's own socket, also where a relay stands before it.</summary>
    public string ConnectionString => Settings.ConnectionString(PostgresSocketDirectory);

    /// <summary>Where an instance takes an operator's calls: beside the payments, or at a port of its own.</summary>
    public string AdminUrlOf(string instance) => Settings.SharesAdmin
        ? $"http://unix:{SocketOf(instance)}"
        : $"http://127.0.0.1:{AdminPortOf(instance)}";

    public int AdminPortOf(string instance) => Settings.AdminPort + PartNames.Instances.ToList().IndexOf(instance);

    public string SocketOf(string instance) => Path.Combine(SocketDirectory, $"{instance}.sock");
}
