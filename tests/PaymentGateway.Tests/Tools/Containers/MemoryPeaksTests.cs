using PaymentGateway.Tools.Containers;

namespace PaymentGateway.Tests.Tools.Containers;

/// <summary>Peaks of memory from the samples of cgroups.</summary>
public sealed class MemoryPeaksTests
{
    private const long Mebibyte = 1_048_576;

    [Fact]
    public void A_sample_has_shared_memory_as_its_own_and_not_as_page_cache()
    {
        var sample = MemorySample.Parse("cache 700\nrss 1000\nshmem 200\nmapped_file 5\n", "300\n", "42\n");

        Assert.Equal(new MemorySample(Own: 1_200, Kernel: 300, Cache: 500, CpuNanoseconds: 42), sample);
    }

    [Fact]
    public void The_peak_is_that_of_both_together_and_page_cache_has_one_of_its_own()
    {
        var peaks = new MemoryPeaks();
        peaks.Add("nginx", new MemorySample(10 * Mebibyte, 1 * Mebibyte, 9 * Mebibyte, 1_000_000_000));
        peaks.Add("nginx", new MemorySample(9 * Mebibyte, 4 * Mebibyte, 3 * Mebibyte, 2_000_000_000));
        peaks.Add("nginx", new MemorySample(5 * Mebibyte, 5 * Mebibyte, 2 * Mebibyte, 3_500_000_000));
        peaks.Add("api1", new MemorySample(Mebibyte / 2, 0, 0, 7));

        Assert.Equal(
            ["| api1 | 0.5 | 0.5 | 0.0 | 0.0 | 0.0 |", "| nginx | 13.0 | 9.0 | 4.0 | 9.0 | 2.5 |"], peaks.Rows());
    }
}
