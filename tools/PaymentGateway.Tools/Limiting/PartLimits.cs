namespace PaymentGateway.Tools.Limiting;

/// <summary>
/// Running parts under the CPU shares of docker-compose.yml, until it is disposed: by version 1 of the kernel's cgroups,
/// which limits CPU here; memory is only measured.
/// </summary>
public sealed class PartLimits : IDisposable
{
    private const string OnlyHere = "It takes root on the machine itself, not in a container";

    // Docker's, in microseconds: a part is throttled here as it is there.
    private const int Period = 100_000;

    // In the order of a payment; the simulators have no share and come after all others.
    private static readonly string[] Order = [.. PartNames.Counted, PartNames.Default, PartNames.Fallback];

    private readonly string _tag = $"payment-gateway.{Guid.NewGuid().ToString("N")[..12]}";
    private readonly string _cpu;
    private readonly string _accounting;
    private readonly List<string> _made = [];
    private readonly List<string> _parts = [];
    private readonly List<string> _lines = [];

    /// <param name="mounts">Lines of /proc/mounts.</param>
    /// <exception cref="ToolException">This machine has no such cgroups.</exception>
    internal PartLimits(IEnumerable<string> mounts)
    {
        var groups = mounts.Select(line => line.Split(' ')).Where(fields => fields is [_, _, "cgroup", ..]).ToList();
        (_cpu, _accounting) = (RootOf("cpu"), RootOf("cpuacct"));

        string RootOf(string controller) => groups.Find(fields => fields[3].Split(',').Contains(controller))?[1]
            ?? throw new ToolException($"LIMITS: this machine has no {controller} controller of cgroups version 1");
    }

    /// <summary>Where each part's CPU time is counted, as the load tests take it: nginx=/sys/…,api1=/sys/…</summary>
    public string CpuFiles => string.Join(',', _parts.Select(part => $"{part}={CpuFile(part)}"));

    /// <summary>A line for each part and what it got.</summary>
    public IReadOnlyList<string> Lines => _lines;

    /// <param name="pids">The first process of each part: all of its processes are moved.</param>
    /// <exception cref="ToolException">The machine does not let us; nothing is left behind.</exception>
    public static PartLimits Put(IReadOnlyDictionary<string, int> pids)
    {
        if (!Environment.IsPrivilegedProcess)
            throw new ToolException("LIMITS: only root may make cgroups; without LIMITS=1 it runs unlimited");
        var shares = ComposeSplit.Read();
        var limits = new PartLimits(File.ReadLines("/proc/mounts"));
        try
        {
            foreach (var part in Order.Where(pids.ContainsKey))
            {
                limits.Make(part, shares.GetValueOrDefault(part));
                limits.MoveIn(part, pids[part]);
            }

            return limits;
        }
        catch
        {
            limits.Dispose();
            throw;
        }
    }

    /// <summary>The CPU time a part has used since it was put here.</summary>
    public long CpuMilliseconds(string part) =>
        long.Parse(File.ReadAllText(CpuFile(part)), CultureInfo.InvariantCulture) / 1_000_000;

    /// <summary>The last group first. What still runs goes back to the root: a group with members stays.</summary>
    public void Dispose()
    {
        foreach (var group in Enumerable.Reverse(_made))
        {
            foreach (var pid in File.ReadAllLines(Path.Combine(group, "cgroup.procs")))
                Move(pid, Path.GetDirectoryName(group)!);
            try
            {
                Directory.Delete(group);
            }
            catch (IOException busy)
            {
                Console.Error.WriteLine($"could not remove {group}: {busy.Message}");
            }
        }

        _made.Clear();
    }

    /// <summary>Makes a part's group and gives it its share; a part without one comes after all others.</summary>
    internal void Make(string part, PartShare? share)
    {
        _parts.Add(part);
        // The two may be one mount.
        foreach (var group in GroupsOf(part))
        {
            try
            {
                Directory.CreateDirectory(group);
            }
            catch (Exception refused) when (refused is IOException or UnauthorizedAccessException)
            {
                throw new ToolException($"LIMITS: no group {group} can be made. {OnlyHere}");
            }

            _made.Add(group);
        }

        var limited = GroupsOf(part).First();
        if (share is null)
        {
            Write(limited, "cpu.shares", 256);
            _lines.Add($"{part}: low weight");
            return;
        }

        Write(limited, "cpu.cfs_period_us", Period);
        Write(limited, "cpu.cfs_quota_us", (int)(share.Cpus * Period));
        _lines.Add(FormattableString.Invariant($"{part}: {share.Cpus} CPU"));
    }

    internal string CpuFile(string part) => Path.Combine(GroupsOf(part).Last(), "cpuacct.usage");

    // A second pass catches what was forked during the first; what is forked afterwards starts inside.
    private void MoveIn(string part, int first)
    {
        for (var round = 0; round < 2; round++)
            foreach (var pid in ProcessTree.Of(first))
                foreach (var group in GroupsOf(part))
                    if (!Move(pid.ToString(CultureInfo.InvariantCulture), group) && ProcessStatus.Read(pid) is not null)
                        throw new ToolException($"LIMITS: process {pid} of {part} cannot be put into {group}. {OnlyHere}");
    }

    private IEnumerable<string> GroupsOf(string part) =>
        new[] { _cpu, _accounting }.Distinct().Select(root => Path.Combine(root, $"{_tag}.{part}"));

    private static bool Move(string pid, string group)
    {
        try
        {
            File.WriteAllText(Path.Combine(group, "cgroup.procs"), pid);
            return true;
        }
        catch (Exception refused) when (refused is IOException or UnauthorizedAccessException)
        {
            return false; // It has ended, or the machine does not let us.
        }
    }

    private static void Write(string group, string file, int value) =>
        File.WriteAllText(Path.Combine(group, file), value.ToString(CultureInfo.InvariantCulture));
}
