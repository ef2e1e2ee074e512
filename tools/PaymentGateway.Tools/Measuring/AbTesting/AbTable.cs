namespace PaymentGateway.Tools.Measuring.AbTesting;

/// <summary>What one burst of payments at one variant cost: CPU in milliseconds per payment.</summary>
public sealed record AbBurst(string Variant, int Round, CpuUse Cpu, double P50Ms, double P99Ms);

/// <summary>The bursts as a table: medians, and how much of the first variant each is, round by round.</summary>
public static class AbTable
{
    private static readonly string[] Head =
    [
        "variant", "CPU µs a payment, median", "nginx", "instances", "PostgreSQL", "p50 ms", "p99 ms",
        "of the first one, mean of the rounds",
    ];

    /// <param name="variants">In the order of the table: the first one is what all are compared with.</param>
    public static IEnumerable<string> Of(IReadOnlyList<string> variants, IReadOnlyList<AbBurst> bursts)
    {
        yield return Rows.Line(Head);
        yield return Rows.Line(Head.Select(_ => "---"));
        var first = bursts.Where(burst => burst.Variant == variants[0]).ToDictionary(burst => burst.Round);
        foreach (var variant in variants)
        {
            var own = bursts.Where(burst => burst.Variant == variant).ToList();
            var ratio = Statistics.RatioOf(own.Select(burst => (burst.Cpu.All, first[burst.Round].Cpu.All)));
            yield return Rows.Line(
                [variant, MicrosOf(own, cpu => cpu.All), MicrosOf(own, cpu => cpu.Nginx),
                    MicrosOf(own, cpu => cpu.Instances), MicrosOf(own, cpu => cpu.PostgreSql),
                    Figure.Of(Statistics.Median(own.Select(burst => burst.P50Ms)), 2),
                    Figure.Of(Statistics.Median(own.Select(burst => burst.P99Ms)), 2),
                    $"{Figure.Of(ratio.Mean, 3)} ± {Figure.Of(ratio.StandardError, 3)}"]);
        }
    }

    private static string MicrosOf(IEnumerable<AbBurst> bursts, Func<CpuUse, double> part) =>
        Figure.Of(Statistics.Median(bursts.Select(burst => 1000 * part(burst.Cpu))), 0);
}
