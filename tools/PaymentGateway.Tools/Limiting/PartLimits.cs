namespace PaymentGateway.Tools.Limiting;

/// <summary>
/// The shares of docker-compose.yml in force for parts that run outside containers: a group of the kernel's cgroups for
/// each part, in which the part is started, so that all of its memory counts. Version 2 where it has the controllers,
/// else version 1.
/// </summary>
internal sealed class PartLimits
{
    private const string OnlyHere = "It takes root on the machine itself, not in a container";

    // Docker's, in microseconds: a part is throttled here as it is there.
    private const int Period = 100_000;

    // Of 100 in version 2, of 1,024 in version 1: what has no share comes after all others.
    private const int LowWeight = 25;
    private const int LowShares = 256;

    private readonly string? _unified;
    private readonly string? _cpu;
    private readonly string? _memory;

    /// <param name="mounts">Lines of /proc/mounts.</param>
    /// <exception cref="ToolException">This machine has no such cgroups.</exception>
    public PartLimits(IEnumerable<string> mounts)
    {
        var all = mounts.Select(line => line.Split(' ')).ToList();
        _unified = all.FirstOrDefault(fields => fields is [_, var at, "cgroup2", ..] && HasControllers(at))?[1];
        _cpu = OfVersion1("cpu");
        _memory = OfVersion1("memory");
        if (_unified is null && (_cpu is null || _memory is null))
            throw new ToolException("LIMITS: this machine has no cgroups with controllers of CPU and memory");

        string? OfVersion1(string controller) => all.FirstOrDefault(
            fields => fields is [_, _, "cgroup", var options, ..] && options.Split(',').Contains(controller))?[1];
    }

    /// <exception cref="ToolException">This machine has none, or does not let us.</exception>
    public static PartLimits OfThisMachine() => Environment.IsPrivilegedProcess
        ? new PartLimits(File.ReadLines("/proc/mounts"))
        : throw new ToolException("LIMITS: only root may make cgroups; without LIMITS=1 it runs unlimited");

    /// <summary>Makes the groups of a part, or takes those of its former start.</summary>
    /// <param name="system">Names the system that the part belongs to.</param>
    /// <param name="share">Null for a part that comes after all others, without a limit.</param>
    /// <returns>Their folders: a process that is written into cgroup.procs of each is limited.</returns>
    public IReadOnlyList<string> Make(string system, string part, PartShare? share)
    {
        try
        {
            return _unified is not null
                ? [MakeUnified(Path.Combine(_unified, $"{system}.{part}"), share)]
                : [MakeCpu(Path.Combine(_cpu!, $"{system}.{part}"), share),
                    MakeMemory(Path.Combine(_memory!, $"{system}.{part}"), share)];
        }
        catch (Exception refused) when (refused is IOException or UnauthorizedAccessException)
        {
            throw new ToolException($"LIMITS: {part} cannot be limited: {refused.Message}. {OnlyHere}");
        }
    }

    /// <summary>Removes the groups of a system whose parts have ended.</summary>
    public void Remove(string system)
    {
        foreach (var root in new[] { _unified, _cpu, _memory }.OfType<string>())
            foreach (var group in Directory.GetDirectories(root, $"{system}.*"))
                try
                {
                    Directory.Delete(group);
                }
                catch (IOException busy)
                {
                    Console.Error.WriteLine($"could not remove {group}: {busy.Message}");
                }
    }

    /// <exception cref="ToolException">A process runs without limits.</exception>
    public static void Demand(IReadOnlyDictionary<string, int> pids)
    {
        foreach (var (part, pid) in pids)
            if (!File.ReadAllText($"/proc/{pid}/cgroup").Contains($".{part}\n", StringComparison.Ordinal))
                throw new ToolException($"LIMITS: {part} runs without limits; LIMITS=1 belongs to its start");
    }

    private static bool HasControllers(string root) =>
        File.ReadAllText(Path.Combine(root, "cgroup.controllers")).Split((char[]?)null) is var controllers
        && controllers.Contains("cpu") && controllers.Contains("memory");

    private string MakeUnified(string group, PartShare? share)
    {
        Write(_unified!, "cgroup.subtree_control", "+cpu +memory");
        Directory.CreateDirectory(group);
        if (share is null)
            return Write(group, "cpu.weight", $"{LowWeight}");
        Write(group, "cpu.max", $"{(int)(share.Cpus * Period)} {Period}");
        Write(group, "memory.max", $"{share.MemoryBytes}");
        return WriteIfThere(group, "memory.swap.max", "0");
    }

    private static string MakeCpu(string group, PartShare? share)
    {
        Directory.CreateDirectory(group);
        if (share is null)
            return Write(group, "cpu.shares", $"{LowShares}");
        Write(group, "cpu.cfs_period_us", $"{Period}");
        return Write(group, "cpu.cfs_quota_us", $"{(int)(share.Cpus * Period)}");
    }

    private static string MakeMemory(string group, PartShare? share)
    {
        Directory.CreateDirectory(group);
        if (share is null)
            return group;
        Write(group, "memory.limit_in_bytes", $"{share.MemoryBytes}");
        return WriteIfThere(group, "memory.memsw.limit_in_bytes", $"{share.MemoryBytes}");
    }

    // A kernel that does not count swapped memory lacks the file.
    private static string WriteIfThere(string group, string file, string value) =>
        File.Exists(Path.Combine(group, file)) ? Write(group, file, value) : group;

    private static string Write(string group, string file, string value)
    {
        File.WriteAllText(Path.Combine(group, file), value);
        return group;
    }
}
