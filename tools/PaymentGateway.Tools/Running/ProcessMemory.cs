namespace PaymentGateway.Tools.Running;

/// <summary>The memory of processes.</summary>
public static class ProcessMemory
{
    /// <summary>The proportional set: private pages, and the process's share of shared ones.</summary>
    public static long PssBytes(int pid)
    {
        var line = File.ReadLines($"/proc/{pid}/smaps_rollup")
            .First(line => line.StartsWith("Pss:", StringComparison.Ordinal));
        return long.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1], CultureInfo.InvariantCulture)
            * 1024;
    }

    /// <summary>The sum over a process and its children; PostgreSQL and nginx fork.</summary>
    public static long PssWithForkedBytes(int pid) =>
        PssBytes(pid) + ProcessTree.ChildrenOf(pid).Sum(PssOrNothingBytes);

    /// <summary>A server process may end between two looks.</summary>
    public static long PssOrNothingBytes(int pid)
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
