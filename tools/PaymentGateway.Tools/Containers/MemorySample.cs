using System.Globalization;

namespace PaymentGateway.Tools.Containers;

/// <summary>A container's memory and CPU time at one moment, from its cgroup (version 1).</summary>
/// <param name="Own">Anonymous and shared bytes.</param>
/// <param name="Kernel">The kernel's for it; with its own it is what it can be killed for.</param>
/// <param name="Cache">Page cache, which the kernel takes back.</param>
/// <param name="CpuNanoseconds">Since its start.</param>
public sealed record MemorySample(long Own, long Kernel, long Cache, long CpuNanoseconds)
{
    /// <exception cref="IOException">The container does not run.</exception>
    public static MemorySample Read(string group, string container)
    {
        var memory = $"/sys/fs/cgroup/memory/{group}/{container}";
        return Parse(
            File.ReadAllText($"{memory}/memory.stat"), File.ReadAllText($"{memory}/memory.kmem.usage_in_bytes"),
            File.ReadAllText($"/sys/fs/cgroup/cpuacct/{group}/{container}/cpuacct.usage"));
    }

    public static MemorySample Parse(string statistics, string kernel, string cpu)
    {
        var values = statistics.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(line => line.Split(' ')).ToDictionary(pair => pair[0], pair => Number(pair[1]));
        return new MemorySample(
            values["rss"] + values["shmem"], Number(kernel), values["cache"] - values["shmem"], Number(cpu));
    }

    private static long Number(string text) => long.Parse(text.Trim(), CultureInfo.InvariantCulture);
}
