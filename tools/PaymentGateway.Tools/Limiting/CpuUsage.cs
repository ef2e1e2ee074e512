using System.Globalization;

namespace PaymentGateway.Tools.Limiting;

/// <summary>The kernel's files of used CPU time, in milliseconds.</summary>
internal static class CpuUsage
{
    /// <summary>Version 1's cpuacct.usage.</summary>
    public static long FromNanoseconds(string text) => long.Parse(text, CultureInfo.InvariantCulture) / 1_000_000;

    /// <summary>Version 2's cpu.stat.</summary>
    public static long FromStatistics(string text) => text.Split('\n')
        .Where(line => line.StartsWith("usage_usec ", StringComparison.Ordinal))
        .Select(line => long.Parse(line.Split(' ')[1], CultureInfo.InvariantCulture) / 1_000)
        .Single();
}
