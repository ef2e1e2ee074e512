using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tests.Tools.Limiting;

/// <summary>CPU shares as groups, in a folder that stands for the kernel's.</summary>
public sealed class PartLimitsTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("payment-gateway-tests.").FullName;

    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Fact]
    public void A_share_is_a_quota_of_CPU_and_a_part_without_one_has_a_low_weight()
    {
        var limits = new PartLimits([
            "tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0", $"cgroup {_root} cgroup rw,cpu,cpuacct 0 0"]);

        limits.Make("api1", new PartShare(0.35m, 85));
        limits.Make("default", null);

        Assert.Equal(["api1: 0.35 CPU", "default: low weight"], limits.Lines);
        Assert.Equal("100000", Read("api1", "cpu.cfs_period_us"));
        Assert.Equal("35000", Read("api1", "cpu.cfs_quota_us"));
        Assert.Equal("256", Read("default", "cpu.shares"));
    }

    [Fact]
    public void A_machine_without_cgroups_of_version_1_is_refused() =>
        Assert.Throws<ToolException>(() => new PartLimits([$"cgroup2 {_root} cgroup2 rw 0 0"]));

    private string Read(string part, string file) =>
        File.ReadAllText(Path.Combine(Directory.GetDirectories(_root, $"*.{part}").Single(), file));
}
