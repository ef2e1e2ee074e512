using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tests.Tools.Limiting;

/// <summary>What the machine says of its control groups.</summary>
public sealed class ControlGroupsTests
{
    [Fact]
    public void Controllers_of_version_1_are_found_by_their_names_alone_or_together()
    {
        var mounts = CgroupMount.ParseAll(
        [
            "tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0",
            "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0",
            "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0",
            "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0",
        ]).ToList();

        Assert.Equal("/sys/fs/cgroup/cpu,cpuacct", Assert.Single(mounts, mount => mount.Controls("cpu")).Path);
        Assert.Equal("/sys/fs/cgroup/cpu,cpuacct", Assert.Single(mounts, mount => mount.Controls("cpuacct")).Path);
        Assert.Equal("/sys/fs/cgroup/unified", Assert.Single(mounts, mount => mount.IsVersion2).Path);
    }

    [Fact]
    public void Used_time_is_in_milliseconds_in_both_versions()
    {
        Assert.Equal(1234, CpuUsage.FromNanoseconds("1234567890\n"));
        Assert.Equal(1234, CpuUsage.FromStatistics("usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n"));
    }
}
