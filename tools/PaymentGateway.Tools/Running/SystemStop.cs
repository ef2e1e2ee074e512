namespace PaymentGateway.Tools.Running;

/// <summary>The stop of a system or of some of its parts.</summary>
internal static class SystemStop
{
    private static readonly TimeSpan KillLimit = TimeSpan.FromSeconds(15);

    /// <summary>Whoever is asked by somebody else stops after him. Those of one step stop together.</summary>
    public static IReadOnlyList<IReadOnlyList<string>> Order { get; } =
    [
        [PartNames.Nginx], PartNames.Instances, [PartNames.Default, PartNames.Fallback], [PartNames.Postgres],
    ];

    /// <summary>Everything but the logs and what PostgreSQL has stored.</summary>
    public static async Task RemoveLeftoversAsync(RunFolder folder, TextWriter output)
    {
        var shortDirectory = folder.Load()?.ShortDirectory;
        foreach (var parts in Order)
            await StopAsync(folder, parts, output);
        if (shortDirectory is not null && SystemStart.IsShortDirectory(shortDirectory)
            && Directory.Exists(shortDirectory))
            Directory.Delete(shortDirectory, recursive: true);
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
        var waited = new Waiting(part.StopLimit);
        while (folder.PidOf(part.Name) is { } pid)
        {
            if (waited.IsOver)
            {
                await Console.Error.WriteLineAsync($"{part.Name} did not stop in time: killed");
                Posix.Send(pid, Signal.Kill);
                waited = new Waiting(KillLimit);
            }

            await Waiting.PauseAsync();
        }
    }
}
