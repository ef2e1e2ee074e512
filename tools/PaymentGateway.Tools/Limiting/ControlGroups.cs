using System.Globalization;

namespace PaymentGateway.Tools.Limiting;

/// <summary>Where one part's processes are put.</summary>
/// <param name="Directories">One, or two where CPU time is counted elsewhere.</param>
/// <param name="CpuFile">Where its CPU time is counted.</param>
internal sealed record PartGroup(IReadOnlyList<string> Directories, string CpuFile);

/// <summary>
/// This machine's control groups: version 1 where it mounts the cpu controller by itself, else 2. What was made is
/// removed when it is disposed.
/// </summary>
internal abstract class ControlGroups : IDisposable
{
    // Docker's, in microseconds: a part is throttled here as it is there.
    private const int Period = 100_000;

    private readonly List<string> _made = [];

    /// <param name="mounts">Lines of /proc/mounts.</param>
    /// <exception cref="ToolException">This machine has none that limit CPU.</exception>
    public static ControlGroups Find(IEnumerable<string> mounts)
    {
        var groups = mounts.Select(line => line.Split(' ')).Where(fields => fields.Length > 3).ToList();
        if (OfVersion1("cpu") is { } cpu && OfVersion1("cpuacct") is { } accounting)
            return new VersionOne(cpu, accounting);
        return groups.Find(fields => fields[2] == "cgroup2") is { } both
            && File.Exists(Path.Combine(both[1], "cgroup.controllers"))
            ? new VersionTwo(both[1])
            : throw new ToolException("LIMITS: this machine has no cgroups with a cpu controller");

        string? OfVersion1(string controller) => groups.Find(
            fields => fields[2] == "cgroup" && fields[3].Split(',').Contains(controller))?[1];
    }

    /// <summary>Whether a share's memory is in force, and not only its CPU.</summary>
    public abstract bool LimitsMemory { get; }

    /// <summary>Makes a part's group and gives it its share; a part without one comes after all others.</summary>
    public abstract PartGroup Make(string name, PartShare? share);

    /// <param name="file">Of a <see cref="PartGroup"/>.</param>
    public static long ReadCpuMilliseconds(string file) => Path.GetFileName(file) == "cpu.stat"
        ? File.ReadLines(file).Where(line => line.StartsWith("usage_usec ", StringComparison.Ordinal))
            .Select(line => Number(line.Split(' ')[1]) / 1_000).Single()
        : Number(File.ReadAllText(file)) / 1_000_000;

    /// <summary>The last group first. What still runs goes back to the root: a group with members stays.</summary>
    public virtual void Dispose()
    {
        foreach (var group in Enumerable.Reverse(_made))
        {
            foreach (var pid in File.ReadAllLines(Path.Combine(group, "cgroup.procs")))
                TryWrite(Path.GetDirectoryName(group)!, "cgroup.procs", pid);
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

    private string MakeGroup(string root, string name)
    {
        var group = Path.Combine(root, name);
        try
        {
            Directory.CreateDirectory(group);
        }
        catch (Exception refused) when (refused is IOException or UnauthorizedAccessException)
        {
            throw Refusal($"no group can be made in {root}");
        }

        _made.Add(group);
        return group;
    }

    private static ToolException Refusal(string what) =>
        new($"LIMITS: {what}. It takes root on the machine itself, not in a container");

    private static long Number(string text) => long.Parse(text, CultureInfo.InvariantCulture);

    private static void Write(string group, string file, FormattableString value) =>
        File.WriteAllText(Path.Combine(group, file), FormattableString.Invariant(value));

    private static void TryWrite(string group, string file, string value)
    {
        try
        {
            Write(group, file, $"{value}");
        }
        catch (IOException)
        {
            // The process has ended, or somebody else has begun to use the controller.
        }
    }

    /// <summary>CPU is limited, memory only measured.</summary>
    private sealed class VersionOne(string cpuRoot, string accountingRoot) : ControlGroups
    {
        public override bool LimitsMemory => false;

        public override PartGroup Make(string name, PartShare? share)
        {
            var group = MakeGroup(cpuRoot, name);
            // The two may be one mount.
            var accounting = Path.Combine(accountingRoot, name);
            if (!Directory.Exists(accounting))
                MakeGroup(accountingRoot, name);
            if (share is null)
            {
                Write(group, "cpu.shares", $"256");
            }
            else
            {
                Write(group, "cpu.cfs_period_us", $"{Period}");
                Write(group, "cpu.cfs_quota_us", $"{(int)(share.Cpus * Period)}");
            }

            return new PartGroup([group, accounting], Path.Combine(accounting, "cpuacct.usage"));
        }
    }

    /// <summary>CPU and memory are limited.</summary>
    private sealed class VersionTwo(string root) : ControlGroups
    {
        private static readonly string[] Needed = ["cpu", "memory"];

        private readonly List<string> _enabled = [];

        public override bool LimitsMemory => true;

        public override PartGroup Make(string name, PartShare? share)
        {
            Enable();
            var group = MakeGroup(root, name);
            if (share is null)
            {
                Write(group, "cpu.weight", $"25");
            }
            else
            {
                Write(group, "cpu.max", $"{(int)(share.Cpus * Period)} {Period}");
                Write(group, "memory.max", $"{share.MemoryMegabytes * ComposeSplit.BytesPerMegabyte}");
            }

            return new PartGroup([group], Path.Combine(group, "cpu.stat"));
        }

        public override void Dispose()
        {
            base.Dispose();
            foreach (var controller in _enabled)
                TryWrite(root, "cgroup.subtree_control", $"-{controller}");
            _enabled.Clear();
        }

        // Only what is not on yet, so that the machine is left as it was.
        private void Enable()
        {
            foreach (var controller in Needed.Except(Words("cgroup.subtree_control")))
            {
                try
                {
                    Write(root, "cgroup.subtree_control", $"+{controller}");
                }
                catch (Exception refused) when (refused is IOException or UnauthorizedAccessException)
                {
                    throw Refusal($"the {controller} controller cannot be passed on in {root}");
                }

                _enabled.Add(controller);
            }
        }

        private string[] Words(string file) =>
            File.ReadAllText(Path.Combine(root, file)).Split([' ', '\n'], StringSplitOptions.RemoveEmptyEntries);
    }
}
