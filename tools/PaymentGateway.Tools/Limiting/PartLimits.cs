namespace PaymentGateway.Tools.Limiting;

/// <summary>
/// Running parts under the CPU shares of docker-compose.yml, until it is disposed: by version 1 of the kernel's
/// cgroups. Memory is only measured.
/// </summary>
public sealed class PartLimits : IDisposable
{
    private const string OnlyHere = "It takes root on the machine itself, not in a container";

    // Docker's, in microseconds: a part is throttled here as it is there.
    private const int Period = 100_000;

    // In the order of a payment; the simulators have no share and come after all others.
    private static readonly string[] Order = [.. PartNames.Counted, .. PartNames.Processors];

    private readonly string _tag = $"payment-gateway.{Guid.NewGuid().ToString("N")[..12]}";
    private readonly string _root;
    private readonly List<string> _groups = [];
    private readonly List<string> _lines = [];

    /// <param name="mounts">Lines of /proc/mounts.</param>
    /// <exception cref="ToolException">This machine has no such cgroups.</exception>
    internal PartLimits(IEnumerable<string> mounts) => _root = mounts.Select(line => line.Split(' '))
        .FirstOrDefault(fields => fields is [_, _, "cgroup", ..] && fields[3].Split(',').Contains("cpu"))?[1]
        ?? throw new ToolException("LIMITS: this machine has no cpu controller of cgroups version 1");

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
                MoveIn(part, pids[part], limits.Make(part, shares.GetValueOrDefault(part)));
            return limits;
        }
        catch
        {
            limits.Dispose();
            throw;
        }
    }

    /// <summary>The last group first. What still runs goes back to the root: a group with members stays.</summary>
    public void Dispose()
    {
        foreach (var group in Enumerable.Reverse(_groups))
        {
            foreach (var pid in File.ReadAllLines(Path.Combine(group, "cgroup.procs")))
                Move(pid, _root);
            try
            {
                Directory.Delete(group);
            }
            catch (IOException busy)
            {
                Console.Error.WriteLine($"could not remove {group}: {busy.Message}");
            }
        }

        _groups.Clear();
    }

    /// <summary>Makes a part's group and gives it its share; a part without one comes after all others.</summary>
    internal string Make(string part, PartShare? share)
    {
        var group = Path.Combine(_root, $"{_tag}.{part}");
        try
        {
            Directory.CreateDirectory(group);
        }
        catch (Exception refused) when (refused is IOException or UnauthorizedAccessException)
        {
            throw new ToolException($"LIMITS: no group {group} can be made. {OnlyHere}");
        }

        _groups.Add(group);
        if (share is null)
        {
            Write(group, "cpu.shares", 256);
            _lines.Add($"{part}: low weight");
        }
        else
        {
            Write(group, "cpu.cfs_period_us", Period);
            Write(group, "cpu.cfs_quota_us", (int)(share.Cpus * Period));
            _lines.Add(FormattableString.Invariant($"{part}: {share.Cpus} CPU"));
        }

        return group;
    }

    // A second pass catches what was forked during the first; what is forked afterwards starts inside.
    private static void MoveIn(string part, int first, string group)
    {
        for (var round = 0; round < 2; round++)
            foreach (var pid in ProcessTree.Of(first))
                if (!Move(pid.ToString(CultureInfo.InvariantCulture), group) && ProcessStatus.Read(pid) is not null)
                    throw new ToolException($"LIMITS: process {pid} of {part} cannot be put into {group}. {OnlyHere}");
    }

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
