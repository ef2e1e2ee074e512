using System.Globalization;

namespace PaymentGateway.Tools.Containers;

/// <summary>The most that each container held over many samples.</summary>
public sealed class MemoryPeaks
{
    private const double Mebibyte = 1_048_576;

    private readonly SortedDictionary<string, List<MemorySample>> _samples = new(StringComparer.Ordinal);

    public void Add(string service, MemorySample sample)
    {
        if (!_samples.TryGetValue(service, out var earlier))
            _samples.Add(service, earlier = []);
        earlier.Add(sample);
    }

    /// <summary>A row for each: own and kernel at their common peak, these two, page cache, CPU s in between.</summary>
    public IEnumerable<string> Rows() => _samples.Select(pair => Row(pair.Key, pair.Value));

    private static string Row(string service, List<MemorySample> seen)
    {
        var peak = seen.MaxBy(sample => sample.Own + sample.Kernel)!;
        var cpu = (seen[^1].CpuNanoseconds - seen[0].CpuNanoseconds) / 1e9;
        return string.Create(
            CultureInfo.InvariantCulture,
            $"| {service} | {(peak.Own + peak.Kernel) / Mebibyte:0.0} | {peak.Own / Mebibyte:0.0} "
            + $"| {peak.Kernel / Mebibyte:0.0} | {seen.Max(sample => sample.Cache) / Mebibyte:0.0} | {cpu:0.0} |");
    }
}
