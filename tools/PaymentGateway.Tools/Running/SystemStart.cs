using PaymentGateway.Tools.Limiting;

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
        if (settings.Limits)
            PartLimits.OfThisMachine();
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

        system.WriteEnvironmentFile();
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

/// <summary>The stop of a system or of some of its parts.</summary>
internal static class SystemStop
{
    private static readonly TimeSpan KillLimit = TimeSpan.FromSeconds(15);

    /// <summary>Whoever is asked by somebody else stops after him. Those of one step stop together.</summary>
    public static IReadOnlyList<IReadOnlyList<string>> Order { get; } =
    [
        [PartNames.Nginx], PartNames.Instances, PartNames.Processors, [PartNames.Postgres],
    ];

    /// <summary>Everything but the logs and what PostgreSQL has stored.</summary>
    public static async Task RemoveLeftoversAsync(RunFolder folder, TextWriter output)
    {
        var saved = folder.Load();
        foreach (var parts in Order)
            await StopAsync(folder, parts, output);
        if (saved is not null && SystemStart.IsShortDirectory(saved.ShortDirectory))
        {
            if (SystemSettings.From(saved.Variables).Limits)
                PartLimits.OfThisMachine().Remove(Path.GetFileName(saved.ShortDirectory));
            if (Directory.Exists(saved.ShortDirectory))
                Directory.Delete(saved.ShortDirectory, recursive: true);
        }

        folder.Clear();
    }

    /// <summary>Asks all of them, waits for each, and insists when its time is up.</summary>
    public static async Task StopAsync(RunFolder folder, IEnumerable<string> names, TextWriter output)
    {
        var parts = names.Select(Part.Named).ToList();
        var asked = new HashSet<Part>();
        foreach (var part in parts)
            if (folder.PidOf(part.Name) is { } pid && Posix.Send(pid, part.StopSignal))
                asked.Add(part);
        foreach (var part in parts)
        {
            await EndAsync(folder, part);
            // Also a worker whose master was killed: it still holds the port.
            await part.ClearAfterAsync(folder);
            folder.Forget(part.Name);
            if (asked.Contains(part))
                await output.WriteLineAsync($"stopped {part.Name}");
        }
    }

    /// <summary>kill -9; it has terminated on return.</summary>
    public static async Task KillAsync(RunFolder folder, Part part, int pid)
    {
        var children = ProcessTree.ChildrenOf(pid).Select(ProcessStatus.ReadLiving).OfType<ProcessStatus>().ToList();
        Posix.Send(pid, Signal.Kill);
        await Waiting.UntilAsync(() => folder.PidOf(part.Name) is null);
        // Backends notice the death by themselves, and nothing can start before they have terminated.
        if (part.Name == PartNames.Postgres)
            await Waiting.UntilAsync(
                () => !children.Exists(one => ProcessStatus.ReadLiving(one.Pid)?.Born == one.Born));
        await part.ClearAfterAsync(folder);
        folder.Forget(part.Name);
    }

    private static async Task EndAsync(RunFolder folder, Part part)
    {
        if (await HasEndedAsync(part.StopLimit))
            return;

        await Console.Error.WriteLineAsync($"{part.Name} did not stop in time: killed");
        if (folder.PidOf(part.Name) is { } pid)
            Posix.Send(pid, Signal.Kill);
        await HasEndedAsync(KillLimit);

        Task<bool> HasEndedAsync(TimeSpan limit) =>
            Waiting.HoldsAsync(limit, () => Task.FromResult(folder.PidOf(part.Name) is null));
    }
}
