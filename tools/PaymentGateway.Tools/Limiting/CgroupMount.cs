namespace PaymentGateway.Tools.Limiting;

/// <summary>One line of /proc/mounts that has control groups.</summary>
internal sealed record CgroupMount(string Path, bool IsVersion2, IReadOnlyList<string> Options)
{
    /// <summary>Version 1: this controller is found here.</summary>
    public bool Controls(string controller) => !IsVersion2 && Options.Contains(controller);

    public static IEnumerable<CgroupMount> ParseAll(IEnumerable<string> mounts) =>
        from line in mounts
        let fields = line.Split(' ')
        where fields.Length > 3 && fields[2] is "cgroup" or "cgroup2"
        select new CgroupMount(fields[1], fields[2] == "cgroup2", fields[3].Split(','));
}
