using System.Globalization;

namespace PaymentGateway.Tools.Measuring;

/// <summary>What /proc says of a process together with its children: PostgreSQL's backends, nginx's worker.</summary>
internal static class ProcessTree
{
    // Linux counts in hundredths of a second wherever we run (USER_HZ).
    private const double TickMs = 10;

    /// <summary>CPU time of the process, of the children that it waited for, and of those that run.</summary>
    public static double CpuMs(int pid) =>
        Read($"/proc/{pid}/stat") is { } stat
            ? TicksOf(stat) * TickMs + ChildrenOf(pid).Sum(CpuMs)
            : 0;

    /// <summary>Shared pages are divided among those who share them, so parts may be added up.</summary>
    public static long PssKib(int pid) => Kib($"/proc/{pid}/smaps_rollup", "Pss:") + ChildrenOf(pid).Sum(PssKib);

    /// <summary>Resident memory of the process alone.</summary>
    public static long ResidentKib(int pid) => Kib($"/proc/{pid}/status", "VmRSS:");

    /// <summary>User and system time in ticks, with those of children that were waited for.</summary>
    internal static long TicksOf(string stat)
    {
        // The name may hold spaces and brackets: what counts begins after the last one.
        var fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
        return fields[11..15].Sum(field => long.Parse(field, CultureInfo.InvariantCulture));
    }

    private static IEnumerable<int> ChildrenOf(int pid)
    {
        var tasks = $"/proc/{pid}/task";
        if (!Directory.Exists(tasks))
            return [];

        try
        {
            return Directory.GetDirectories(tasks).SelectMany(task => (Read(task + "/children") ?? "")
                .Split(' ', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries))
                .Select(child => int.Parse(child, CultureInfo.InvariantCulture)).ToArray();
        }
        catch (DirectoryNotFoundException)
        {
            return [];
        }
    }

    private static long Kib(string file, string name)
    {
        var line = (Read(file) ?? "").Split('\n')
            .FirstOrDefault(line => line.StartsWith(name, StringComparison.Ordinal));
        return line is null ? 0 : long.Parse(
            line.AsSpan(name.Length).Trim().ToString().Split(' ')[0], CultureInfo.InvariantCulture);
    }

    // A process that just ended used nothing more; one of another user counts for nothing.
    private static string? Read(string file)
    {
        try
        {
            return File.ReadAllText(file);
        }
        catch (Exception gone) when (gone is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
