using System.Globalization;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring;

/// <summary>What /proc says that a part uses, with its children: PostgreSQL's backends, nginx's worker.</summary>
public static class PartUse
{
    // Linux counts in hundredths of a second wherever we run (USER_HZ).
    private const double TickMs = 10;

    /// <summary>CPU time of the first process, of the children that it waited for, and of those that run.</summary>
    public static double CpuMs(int pid) => ProcessTree.Of(pid)
        .Sum(each => Read(each, "stat") is { } stat ? TicksOf(stat) * TickMs : 0);

    /// <summary>User and system time in ticks, with those of children that were waited for.</summary>
    public static long TicksOf(string stat)
    {
        // The name may hold spaces and brackets: what counts begins after the last one.
        var fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
        return fields[11..15].Sum(field => long.Parse(field, CultureInfo.InvariantCulture));
    }

    // A process that just ended used nothing more; one of another user counts for nothing.
    private static string? Read(int pid, string name)
    {
        try
        {
            return File.ReadAllText(string.Create(CultureInfo.InvariantCulture, $"/proc/{pid}/{name}"));
        }
        catch (Exception failed) when (failed is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
