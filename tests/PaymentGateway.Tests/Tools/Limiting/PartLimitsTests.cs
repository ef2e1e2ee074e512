using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tests.Tools.Limiting;

/// <summary>Shares as groups, in folders that stand for the kernel's.</summary>
public sealed class PartLimitsTests : IDisposable
{
    private const string Gateway = "payment-gateway.1234";

    private static readonly PartShare Share = new(0.35m, 85);

    private readonly string _root = Directory.CreateTempSubdirectory("payment-gateway-tests.").FullName;

    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Version_2_gets_quota_memory_and_no_swap_and_a_part_without_a_share_a_low_weight(bool countsSwap)
    {
        var unified = Mount("unified", "cgroup.controllers", "cpuset cpu io memory pids\n");
        var limits = new PartLimits([
            $"cgroup {Mount("cpu")} cgroup rw,cpu 0 0", $"cgroup {Mount("memory")} cgroup rw,memory 0 0",
            $"cgroup2 {unified} cgroup2 rw 0 0"]);
        var (api, simulator) = (Path.Combine(unified, $"{Gateway}.api1"), Path.Combine(unified, $"{Gateway}.default"));
        if (countsSwap)
            Write(api, "memory.swap.max", "max");

        Assert.Equal([api], limits.Make(Gateway, "api1", Share));
        Assert.Equal([simulator], limits.Make(Gateway, "default", null));

        Assert.Equal("+cpu +memory", Read(unified, "cgroup.subtree_control"));
        Assert.Equal("35000 100000", Read(api, "cpu.max"));
        Assert.Equal("89128960", Read(api, "memory.max"));
        Assert.Equal(countsSwap ? "0" : null, Read(api, "memory.swap.max"));
        Assert.Equal("25", Read(simulator, "cpu.weight"));
        Assert.Null(Read(simulator, "memory.max"));
    }

    [Fact]
    public void Version_1_gets_the_same_where_version_2_has_no_controllers()
    {
        var (cpu, memory) = (Mount("cpu,cpuacct"), Mount("memory"));
        var limits = new PartLimits([
            "tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0", $"cgroup {cpu} cgroup rw,cpu,cpuacct 0 0",
            $"cgroup {memory} cgroup rw,memory 0 0",
            $"cgroup2 {Mount("unified", "cgroup.controllers", "")} cgroup2 rw 0 0"]);
        Write(Path.Combine(memory, $"{Gateway}.api1"), "memory.memsw.limit_in_bytes", "max");

        var groups = limits.Make(Gateway, "api1", Share);
        var simulator = limits.Make(Gateway, "default", null);

        Assert.Equal([Path.Combine(cpu, $"{Gateway}.api1"), Path.Combine(memory, $"{Gateway}.api1")], groups);
        Assert.Equal("100000", Read(groups[0], "cpu.cfs_period_us"));
        Assert.Equal("35000", Read(groups[0], "cpu.cfs_quota_us"));
        Assert.Equal("89128960", Read(groups[1], "memory.limit_in_bytes"));
        Assert.Equal("89128960", Read(groups[1], "memory.memsw.limit_in_bytes"));
        Assert.Equal("256", Read(simulator[0], "cpu.shares"));
        Assert.Null(Read(simulator[1], "memory.limit_in_bytes"));
    }

    [Theory]
    [InlineData("cgroup2 ROOT cgroup2 rw 0 0")]
    [InlineData("cgroup ROOT cgroup rw,cpu 0 0")]
    [InlineData("tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0")]
    public void A_machine_without_both_controllers_is_refused(string mount)
    {
        var root = Mount("unified", "cgroup.controllers", "cpu pids\n");

        Assert.Throws<ToolException>(() => new PartLimits(
            [mount.Replace("ROOT", root, StringComparison.Ordinal)]));
    }

    [Fact]
    public void A_process_outside_the_group_of_its_part_is_refused() => Assert.Throws<ToolException>(
        () => PartLimits.Demand(new Dictionary<string, int> { ["api1"] = Environment.ProcessId }));

    private string Mount(string name, string file = "tasks", string content = "") =>
        Write(Path.Combine(_root, name), file, content);

    private static string Write(string folder, string file, string content)
    {
        Directory.CreateDirectory(folder);
        File.WriteAllText(Path.Combine(folder, file), content);
        return folder;
    }

    private static string? Read(string folder, string file) =>
        File.Exists(Path.Combine(folder, file)) ? File.ReadAllText(Path.Combine(folder, file)) : null;
}
