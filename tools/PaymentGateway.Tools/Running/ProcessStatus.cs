namespace PaymentGateway.Tools.Running;

/// <summary>A process as /proc/PID/stat shows it.</summary>
/// <param name="Born">Its start in clock ticks: with the pid it names one process for ever.</param>
/// <param name="CpuMs">User and system time, with that of children that it waited for.</param>
public sealed record ProcessStatus(
    int Pid, string Name, char State, int Parent, int Group, long CpuMs, int Threads, ulong Born)
{
    // Linux counts in hundredths of a second wherever we run (USER_HZ).
    private const int TickMs = 10;

    /// <summary>With its first thread dead it keeps its files, and their locks, until its last thread is.</summary>
    public bool IsAlive => State is not ('Z' or 'X') || Threads > 1;

    /// <summary>Null when there is no such process.</summary>
    public static ProcessStatus? Read(int pid)
    {
        try
        {
            return Parse(File.ReadAllText(string.Create(CultureInfo.InvariantCulture, $"/proc/{pid}/stat")));
        }
        catch (IOException)
        {
            return null; // It ended, before the look or during it.
        }
    }

    /// <summary>Null when there is none, or none that still lives.</summary>
    public static ProcessStatus? ReadLiving(int pid) => Read(pid) is { IsAlive: true } status ? status : null;

    /// <summary>One line of the kernel's. The name in brackets may hold blanks and brackets itself.</summary>
    public static ProcessStatus Parse(string line)
    {
        var (open, close) = (line.IndexOf('('), line.LastIndexOf(')'));
        var fields = line[(close + 2)..].Split(' ');
        return new ProcessStatus(
            Number(line[..open]), line[(open + 1)..close], fields[0][0], Number(fields[1]), Number(fields[2]),
            TickMs * fields[11..15].Sum(Number), Number(fields[17]),
            ulong.Parse(fields[19], CultureInfo.InvariantCulture));
    }

    /// <summary>Every process of this machine that was there while we looked.</summary>
    public static IEnumerable<ProcessStatus> All()
    {
        foreach (var folder in Directory.EnumerateDirectories("/proc"))
            if (int.TryParse(Path.GetFileName(folder), NumberStyles.None, CultureInfo.InvariantCulture, out var pid)
                && Read(pid) is { } status)
                yield return status;
    }

    private static int Number(string text) => int.Parse(text, CultureInfo.InvariantCulture);
}

/// <summary>A process with all that it has forked, and they in turn.</summary>
public static class ProcessTree
{
    /// <summary>The process itself comes first.</summary>
    public static IReadOnlyList<int> Of(int pid)
    {
        var children = ProcessStatus.All().ToLookup(status => status.Parent, status => status.Pid);
        var tree = new List<int> { pid };
        for (var at = 0; at < tree.Count; at++)
            tree.AddRange(children[tree[at]]);
        return tree;
    }

    /// <summary>Those that it has forked itself.</summary>
    public static IReadOnlyList<int> ChildrenOf(int pid) =>
        ProcessStatus.All().Where(status => status.Parent == pid).Select(status => status.Pid).ToList();
}
