using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tools.Measuring;

/// <summary>CPU time of running parts.</summary>
internal sealed class PartMeter
{
    /// <summary>The first process of each part.</summary>
    public IReadOnlyDictionary<string, int> Pids { get; }

    /// <exception cref="ToolException">They should be limited, and one is not.</exception>
    public PartMeter(IReadOnlyDictionary<string, int> pids, bool limited)
    {
        if (limited)
            PartLimits.Demand(pids);
        Pids = pids;
    }

    /// <summary>Of a system that somebody else started: key=value lines.</summary>
    public static Dictionary<string, int> PidsIn(string environmentFile) => File.ReadLines(environmentFile)
        .Select(line => line.Split("_pid=")).Where(pair => pair is [_, { Length: > 0 }])
        .ToDictionary(pair => pair[0], pair => int.Parse(pair[1], CultureInfo.InvariantCulture));

    /// <summary>By the processes, ended children included.</summary>
    public CpuUse Cpu() => CpuUse.Of(part => Pids.TryGetValue(part, out var pid)
        ? ProcessTree.Of(pid).Sum(each => ProcessStatus.Read(each)?.CpuMs ?? 0)
        : 0);
}

/// <summary>CPU time of the parts that the budget is for, in milliseconds, or per payment.</summary>
public readonly record struct CpuUse(double Nginx, double Instances, double PostgreSql)
{
    public double All => Nginx + Instances + PostgreSql;

    public static CpuUse operator -(CpuUse after, CpuUse before) => new(
        after.Nginx - before.Nginx, after.Instances - before.Instances, after.PostgreSql - before.PostgreSql);

    /// <summary>Milliseconds per payment, which is seconds per 1,000.</summary>
    public CpuUse Per(int payments)
    {
        var count = Math.Max(1, payments);
        return new CpuUse(Nginx / count, Instances / count, PostgreSql / count);
    }

    /// <summary>From what each part used by itself.</summary>
    public static CpuUse Of(Func<string, double> msOf) => new(
        msOf(PartNames.Nginx), PartNames.Instances.Sum(msOf), msOf(PartNames.Postgres));
}
