namespace PaymentGateway.Tools.Running;

/// <summary>The file system.env, for programs and load tests: key=value lines, values to the end of the line.</summary>
internal static class EnvironmentFile
{
    public static void Write(SystemLayout system)
    {
        var (settings, folder) = (system.Settings, system.Folder);
        string[] lines =
        [
            $"url={settings.Url}",
            $"default_url={settings.DefaultUrl}",
            $"fallback_url={settings.FallbackUrl}",
            .. PartNames.Instances.Select(instance => $"{instance}_socket={system.SocketOf(instance)}"),
            .. PartNames.Instances.Select(instance => $"{instance}_admin={system.AdminUrlOf(instance)}"),
            $"connection_string={system.ConnectionString}",
            $"postgres_socket_dir={system.PostgresSocketDirectory}",
            $"postgres_bin={settings.PostgresBinaries}",
            $"data_dir={system.DataDirectory}",
            $"logs={folder.Logs}",
            .. settings.Parts.Select(part => $"{part}_pid={folder.PidOf(part)}"),
        ];
        // Never half written where somebody reads it; several may write at once.
        var next = Path.Combine(folder.Path, Path.GetRandomFileName());
        File.WriteAllLines(next, lines);
        File.Move(next, folder.EnvironmentFile, overwrite: true);
    }
}
