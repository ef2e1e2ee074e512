namespace PaymentGateway.Tools.Running;

/// <summary>The data directory: made once, its configuration written before each start.</summary>
internal static class PostgresData
{
    private const UnixFileMode Readable =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead | UnixFileMode.OtherRead;

    /// <summary>Not to be broken off: what initdb has begun is removed by itself alone.</summary>
    public static async Task MakeAsync(
        SystemLayout system,
        IReadOnlyList<string> initdb,
        IEnumerable<KeyValuePair<string, string?>> variables)
    {
        await PostgresUser.MakeDirectoryAsync(system.DataDirectory);
        var made = await Shell.RunAsync(
            [
                .. initdb, "-D", system.DataDirectory, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C",
                .. system.Settings.Durable ? Array.Empty<string>() : ["--no-sync"],
            ],
            "/", Changes(system.Settings, variables));
        await File.AppendAllTextAsync(system.Folder.LogOf(PartNames.Postgres), made.Output + made.Errors);
        if (!made.Succeeded)
            throw PartReport.Of(system.Folder, PartNames.Postgres, "could not make its data directory");
    }

    /// <summary>Copies, because user postgres may not be able to enter the clone.</summary>
    public static void Configure(SystemLayout system)
    {
        Copy("postgresql.conf", system.DataDirectory);
        // The profile is whether this file is there.
        if (system.Settings.Durable)
            Copy("durable.conf", system.DataDirectory);
        else
            File.Delete(Path.Combine(system.DataDirectory, "durable.conf"));
    }

    private static void Copy(string name, string directory)
    {
        var target = Path.Combine(directory, name);
        File.Copy(Repository.PathOf("postgres", name), target, overwrite: true);
        File.SetUnixFileMode(target, Readable);
    }

    // From this process's environment to the system's.
    private static Dictionary<string, string?> Changes(
        SystemSettings settings, IEnumerable<KeyValuePair<string, string?>> variables)
    {
        var environment = new Dictionary<string, string?>();
        SystemEnvironment.Fill(environment, settings, variables);
        foreach (var name in Environment.GetEnvironmentVariables().Keys.Cast<string>())
            environment.TryAdd(name, null);
        return environment;
    }
}
