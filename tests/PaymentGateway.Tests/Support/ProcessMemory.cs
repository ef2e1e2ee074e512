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

    /// <summary>The same of a process and those that it has forked, as PostgreSQL and nginx do.</summary>
    public static long PssWithForkedBytes(int pid) =>
        PssBytes(pid) + ProcessTree.ChildrenOf(pid).Sum(PssOrNothingBytes);

    // A server process may end between two looks.
    private static long PssOrNothingBytes(int pid)
    {
        try
        {
            return PssBytes(pid);
        }
        catch (Exception failed) when (failed is IOException or InvalidOperationException)
        {
            return 0;
        }
    }
}
