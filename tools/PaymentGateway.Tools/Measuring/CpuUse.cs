using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring;

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

    /// <summary>As a row has them: all, nginx, instances, PostgreSQL.</summary>
    public string[] Figures() =>
        [Figure.Of(All, 3), Figure.Of(Nginx, 3), Figure.Of(Instances, 3), Figure.Of(PostgreSql, 3)];
}
