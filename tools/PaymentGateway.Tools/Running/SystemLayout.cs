namespace PaymentGateway.Tools.Running;

/// <summary>Where a system that is being started, or runs, has its things.</summary>
internal sealed record SystemLayout(
    SystemSettings Settings, RunFolder Folder, string ShortDirectory, string DataDirectory)
{
    /// <summary>That of no other system of this machine.</summary>
    public string Name => Path.GetFileName(ShortDirectory);

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

    /// <summary>The file system.env, for programs and load tests: lines of key=value.</summary>
    public void WriteEnvironmentFile()
    {
        string[] lines =
        [
            $"url={Settings.Url}",
            .. Settings.Processors.Select(processor => $"{processor}_url={Settings.UrlOf(processor)}"),
            .. PartNames.Instances.Select(instance => $"{instance}_socket={SocketOf(instance)}"),
            .. PartNames.Instances.Select(instance => $"{instance}_admin={AdminUrlOf(instance)}"),
            $"connection_string={ConnectionString}",
            $"postgres_socket_dir={PostgresSocketDirectory}",
            $"postgres_bin={Settings.PostgresBinaries}",
            $"data_dir={DataDirectory}",
            $"logs={Folder.Logs}",
            .. Settings.Parts.Select(part => $"{part}_pid={Folder.PidOf(part)}"),
        ];
        // Never half written where somebody reads it; several may write at once.
        var next = Path.Combine(Folder.Path, Path.GetRandomFileName());
        File.WriteAllLines(next, lines);
        File.Move(next, Folder.EnvironmentFile, overwrite: true);
    }
}
