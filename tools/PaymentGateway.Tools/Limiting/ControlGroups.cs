namespace PaymentGateway.Tools.Limiting;

/// <summary>This machine's control groups: version 1 where it mounts the cpu controller by itself, else 2.</summary>
internal abstract class ControlGroups
{
    /// <summary>Docker's, in microseconds: a part is throttled here as it is there.</summary>
    protected const int Period = 100_000;

    /// <exception cref="ToolException">This machine has none that limit CPU.</exception>
    public static ControlGroups Find()
    {
        var mounts = CgroupMount.ParseAll(File.ReadLines("/proc/mounts")).ToList();
        var cpu = mounts.Find(mount => mount.Controls("cpu"));
        var accounting = mounts.Find(mount => mount.Controls("cpuacct"));
        if (cpu is not null && accounting is not null)
            return new ControlGroupsOne(cpu.Path, accounting.Path);
        return mounts.Find(mount => mount.IsVersion2) is { } both
            && File.Exists(Path.Combine(both.Path, "cgroup.controllers"))
            ? new ControlGroupsTwo(both.Path)
            : throw new ToolException("LIMITS: this machine has no cgroups with a cpu controller");
    }

    /// <summary>What else is said to whoever measures.</summary>
    public abstract string? Remark { get; }

    /// <summary>Whether a share's memory is in force, and not only its CPU.</summary>
    public abstract bool LimitsMemory { get; }

    /// <summary>Lets groups below the root have controllers. What it turns on is remembered.</summary>
    public abstract void Enable(LimitState state);

    /// <summary>Makes a part's group and gives it its share; a part without one comes after all others.</summary>
    public abstract PartGroup Make(string name, PartShare? share, LimitState state);

    /// <summary>Turns a controller off again.</summary>
    public abstract void Disable(string controller);

    /// <param name="file">Of a <see cref="PartGroup"/>.</param>
    public static long ReadCpuMilliseconds(string file)
    {
        var text = File.ReadAllText(file);
        return Path.GetFileName(file) == "cpu.stat"
            ? CpuUsage.FromStatistics(text)
            : CpuUsage.FromNanoseconds(text);
    }

    protected static ToolException Refusal(string what) =>
        new($"LIMITS: {what}. It takes root on the machine itself, not in a container");

    protected static string MakeGroup(string root, string name, LimitState state)
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

        state.AddGroup(group);
        return group;
    }

    protected static void Write(string group, string file, string value) =>
        File.WriteAllText(Path.Combine(group, file), value);
}

/// <summary>Where one part's processes are put.</summary>
/// <param name="Directories">One, or two where CPU time is counted elsewhere.</param>
/// <param name="CpuFile">Where its CPU time is counted.</param>
internal sealed record PartGroup(IReadOnlyList<string> Directories, string CpuFile);
