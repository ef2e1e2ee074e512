using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>CPU time and memory of the parts that the budget is for, while a load pays.</summary>
internal sealed class PartUse(PartMeter meter)
{
    // The stages begin on full seconds, and what is measured recovers then.
    private static readonly TimeSpan First = TimeSpan.FromSeconds(9.25);
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(10);

    // The kernel walks all pages of a process; some twenty in a row keep a core from the load for several ms.
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(10);

    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly List<MemorySample> _samples = [];
    private readonly Stopwatch _time = new();
    private CpuUse _cpu;
    private Task _sampling = Task.CompletedTask;

    public void Begin()
    {
        _time.Start();
        _cpu = meter.Cpu();
        _sampling = SampleAsync();
    }

    public void End()
    {
        _cpu = meter.Cpu() - _cpu;
        _ended.TrySetResult();
    }

    /// <summary>Adds its figures, and what is wrong with them, to a run that has ended.</summary>
    public async Task AddToAsync(RunResult result)
    {
        if (meter.Pids.Count == 0)
            return;
        await _sampling;
        var memory = new MemoryTrend(_samples);
        result["cpuSeconds"] = _cpu.Per(1000);
        result["cpuSecondsPer1000"] = Math.Round(_cpu.Per(result.Count("accepted")).All, 3);
        result["peakMemoryMiB"] = Math.Round(memory.PeakMiB, 1);
        result["memoryMiBFirstAndLast"] = memory.FirstAndLast();
        foreach (var growth in memory.Growth())
            result.Fail(growth);
    }

    private async Task SampleAsync()
    {
        for (var wait = First; await Task.WhenAny(_ended.Task, Task.Delay(wait)) != _ended.Task; wait = Interval)
            Sample();
        Sample();
    }

    private void Sample() => _samples.Add(new MemorySample(
        _time.Elapsed.TotalSeconds,
        PartNames.Counted.Where(meter.Pids.ContainsKey).ToDictionary(part => part, part => MiBOf(meter.Pids[part]))));

    private static double MiBOf(int first) => ProcessTree.Of(first).Sum(pid =>
    {
        Thread.Sleep(Pause);
        return ProcessMemory.PssOrNothingBytes(pid) / 1024.0 / 1024;
    });
}

/// <summary>The memory of each part at a second of a load. A page that several share is divided among them.</summary>
public sealed record MemorySample(double Second, IReadOnlyDictionary<string, double> MiB);

/// <summary>The memory of a whole load: its peak, and whether the end is heavier than the beginning.</summary>
public sealed class MemoryTrend(IReadOnlyList<MemorySample> samples)
{
    // At most so much, in either measure, is noise: a page table, a connection more.
    private const double GrowthFactor = 1.10;
    private const double GrowthMiB = 4;

    // Before that a pool still fills and a heap still finds its size.
    private const double JudgedFromSeconds = 600;

    private double Seconds => samples[^1].Second;

    public double PeakMiB => samples.Max(sample => sample.MiB.Values.Sum());

    /// <summary>Each part's means of the first and the last five minutes, or quarters of what is shorter.</summary>
    public Dictionary<string, double[]> FirstAndLast()
    {
        var span = Math.Min(300, Seconds / 4);
        var (first, last) = (samples.Where(sample => sample.Second <= span).DefaultIfEmpty(samples[0]).ToList(),
            samples.Where(sample => sample.Second >= Seconds - span).ToList());
        return samples[0].MiB.Keys.ToDictionary(
            part => part,
            double[] (part) => [Mean(first, part), Mean(last, part)]);
    }

    /// <summary>Instances must not grow at all; PostgreSQL fills its buffers first, and nginx has nothing.</summary>
    public IEnumerable<string> Growth() =>
        from part in FirstAndLast()
        let first = part.Value[0]
        let last = part.Value[1]
        where Seconds >= JudgedFromSeconds && PartNames.Instances.Contains(part.Key)
            && last > first * GrowthFactor && last > first + GrowthMiB
        select FormattableString.Invariant($"memory: {part.Key} grew from {first} to {last} MiB");

    private static double Mean(IEnumerable<MemorySample> some, string part) =>
        Math.Round(some.Average(sample => sample.MiB[part]), 1);
}
