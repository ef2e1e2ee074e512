namespace PaymentGateway.Benchmarks.Routing;

/// <summary>The outcome of a load.</summary>
/// <param name="Net">Settled amounts less fees, as a share of all amounts.</param>
/// <param name="Lag">Share of the payments that were not settled at the end.</param>
/// <param name="OnDearer">Share of the payments that another than the cheapest processor settled.</param>
/// <param name="DelayP50">Seconds from acceptance to settlement, of the settled ones.</param>
/// <param name="Regret">The loss against the best decisions in hindsight, as a share of their net.</param>
internal readonly record struct RoutingResult(
    double Net, double Lag, double OnDearer, double DelayP50, double DelayP99, double Regret)
{
    public static RoutingResult Of(
        Schedule schedule, int accepted, int[] settled, List<float> delays)
    {
        delays.Sort();
        var net = settled.Zip(schedule.Fees, (count, fee) => count * (1 - fee)).Sum() / accepted;
        var best = Hindsight.BestNet(schedule);
        return new RoutingResult(
            net, 1 - (double)settled.Sum() / accepted, (double)settled.Skip(1).Sum() / accepted,
            Percentile(delays, 0.5), Percentile(delays, 0.99), best > 0 ? 1 - net / best : 0);
    }

    private static double Percentile(List<float> sorted, double part) =>
        sorted.Count == 0 ? 0 : sorted[(int)(part * (sorted.Count - 1))];
}
