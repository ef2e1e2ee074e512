using System.Globalization;

namespace PaymentGateway.Tests.Support;

/// <summary>What a process has in memory, as the kernel counts it.</summary>
public static class ProcessMemory
{
    /// <summary>Its proportional set: what it holds alone, and its share of what it holds with others.</summary>
    public static long PssBytes(int pid)
    {
        var line = File.ReadLines($"/proc/{pid}/smaps_rollup")
            .First(line => line.StartsWith("Pss:", StringComparison.Ordinal));
        return long.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1], CultureInfo.InvariantCulture)
            * 1024;
    }
}
