using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tests.Tools.Limiting;

/// <summary>Groups of both versions, in folders that stand for the kernel's.</summary>
public sealed class ControlGroupsTests : IDisposable
{
    private static readonly PartShare Share = new(0.35m, 85);

    private readonly string _root = Directory.CreateTempSubdirectory("payment-gateway-tests.").FullName;

    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Fact]
    public void Version_1_limits_CPU_where_its_controller_is_mounted()
    {
        var mount = $"cgroup {_root} cgroup rw,cpu,cpuacct 0 0";
        using var groups = ControlGroups.Find(["tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0", mount]);

        var part = groups.Make("api1", Share);

        Assert.False(groups.LimitsMemory);
        Assert.Equal(("100000", "35000"), (Read("api1/cpu.cfs_period_us"), Read("api1/cpu.cfs_quota_us")));
        File.WriteAllText(part.CpuFile, "1234567890\n");
        Assert.Equal(1234, ControlGroups.ReadCpuMilliseconds(part.CpuFile));
        Empty("api1");
    }

    [Fact]
    public void Version_2_limits_CPU_and_memory_and_turns_its_controllers_off_again()
    {
        File.WriteAllText(Path.Combine(_root, "cgroup.controllers"), "cpu memory\n");
        File.WriteAllText(Path.Combine(_root, "cgroup.subtree_control"), "cpu\n");
        using (var groups = ControlGroups.Find([$"cgroup2 {_root} cgroup2 rw 0 0"]))
        {
            var part = groups.Make("api1", Share);

            Assert.True(groups.LimitsMemory);
            Assert.Equal("+memory", Read("cgroup.subtree_control"));
            Assert.Equal(("35000 100000", "89128960"), (Read("api1/cpu.max"), Read("api1/memory.max")));
            File.WriteAllText(part.CpuFile, "usage_usec 1234567\nuser_usec 1000000\n");
            Assert.Equal(1234, ControlGroups.ReadCpuMilliseconds(part.CpuFile));
            Empty("api1");
        }

        Assert.Equal("-memory", Read("cgroup.subtree_control"));
    }

    [Fact]
    public void A_machine_without_a_cpu_controller_is_refused() =>
        Assert.Throws<ToolException>(() => ControlGroups.Find([$"cgroup2 {_root} cgroup2 rw 0 0"]));

    private string Read(string file) => File.ReadAllText(Path.Combine(_root, file));

    // The kernel's files vanish with their folder; ours do not.
    private void Empty(string group)
    {
        foreach (var file in Directory.GetFiles(Path.Combine(_root, group)))
            File.Delete(file);
        File.WriteAllText(Path.Combine(_root, group, "cgroup.procs"), "");
    }
}
