namespace PaymentGateway.Tools.Running;

/// <summary>The start of a system or of some of its parts. Who calls it has the lock.</summary>
internal static class SystemStart
{
    private const UnixFileMode Everyone = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
        | UnixFileMode.GroupRead | UnixFileMode.GroupExecute | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;

    private const UnixFileMode OwnerOnly =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute;

    // A socket's path may have 107 bytes, and nginx's worker and user postgres must be able to enter; a clone promises
    // neither, and TMPDIR no more than it.
    private const string ShortDirectoryPrefix = "/tmp/payment-gateway.";

    public static bool IsShortDirectory(string path) =>
        path.StartsWith(ShortDirectoryPrefix, StringComparison.Ordinal);

    /// <exception cref="ToolException">A system runs here.</exception>
    public static void RefuseIfRunning(RunFolder folder)
    {
        if (folder.WasLeftByRun())
            return;
        foreach (var part in SystemStop.Order.SelectMany(parts => parts).Prepend(RunFolder.Run))
            if (folder.PidOf(part) is not null)
                throw new ToolException($"it runs already in {folder.Path} ({part}); 'make down' stops it");
    }

    /// <summary>A clean run directory, whatever an earlier run left in it.</summary>
    public static async Task<SystemLayout> BeginAsync(SystemSettings settings, RunFolder folder, TextWriter output)
    {
        PostgresUser.Check();
        await SystemStop.RemoveLeftoversAsync(folder, TextWriter.Null);
        folder.MakeEmpty();
        var shortDirectory = MakeShortDirectory();
        try
        {
            var system = new SystemLayout(settings, folder, shortDirectory, folder.DataOf(settings));
            await MakeSocketDirectoriesAsync(system);
            // Data: under the clone when user postgres can get there, else beside the sockets and deleted with them.
            if (!await PostgresUser.CanEnterAsync(folder.Path))
            {
                system = system with { DataDirectory = Path.Combine(shortDirectory, "data") };
                if (!settings.Fresh && !settings.HasOutsideLedger)
                    await output.WriteLineAsync(
                        $"user postgres cannot enter {folder.Path}: the ledger will end with this run");
            }

            if (settings.Fresh && Directory.Exists(system.DataDirectory))
                Directory.Delete(system.DataDirectory, recursive: true);
            folder.Save(new SavedSystem(shortDirectory, system.DataDirectory, settings.ToSave()));
            return system;
        }
        catch
        {
            Directory.Delete(shortDirectory, recursive: true);
            throw;
        }
    }

    /// <summary>Before anything is started: a port that is taken should not cost a start and a stop.</summary>
    public static void Check(SystemLayout system)
    {
        foreach (var part in system.Settings.Parts)
            Part.Named(part).Check(system);
    }

    /// <summary>All at once, and nginx, the entry point, last.</summary>
    public static async Task StartAsync(
        SystemLayout system, PartLauncher launcher, IReadOnlyList<string> names, CancellationToken cancellation)
    {
        var parts = names.Select(Part.Named).ToLookup(part => part.Name == PartNames.Nginx);
        foreach (var part in parts[false])
            await part.LaunchAsync(system, launcher, cancellation);
        foreach (var part in parts[false])
            await part.AwaitAsync(system, cancellation);
        foreach (var nginx in parts[true])
        {
            await nginx.LaunchAsync(system, launcher, cancellation);
            await nginx.AwaitAsync(system, cancellation);
        }

        EnvironmentFile.Write(system);
    }

    // CreateTempSubdirectory would take TMPDIR; two names are never the same.
    private static string MakeShortDirectory() =>
        Directory.CreateDirectory(ShortDirectoryPrefix + Guid.NewGuid().ToString("N")[..12], OwnerOnly).FullName;

    private static async Task MakeSocketDirectoriesAsync(SystemLayout system)
    {
        Directory.CreateDirectory(system.SocketDirectory);
        File.SetUnixFileMode(system.ShortDirectory, Everyone);
        File.SetUnixFileMode(system.SocketDirectory, Everyone);
        await PostgresUser.MakeDirectoryAsync(system.PostgresSocketDirectory);
    }
}
