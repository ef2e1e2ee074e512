namespace PaymentGateway.Benchmarks.Routing;

/// <summary>
/// The net of somebody who knows the schedule and drains at any rate: each payment goes to the cheapest processor that
/// settles it before the end of the load, now or later. An upper bound.
/// </summary>
internal static class Hindsight
{
    // The audits allow no slower charge (contract.md); the gateway's MaxLatency.
    private const double SlowMs = 1_200;
    private const double Step = 0.25;

    public static double BestNet(Schedule schedule)
    {
        var last = schedule.Fees.Select((_, processor) => LastStart(schedule, processor)).ToList();
        double net = 0, all = 0;
        for (var second = 0.0; second < schedule.Seconds; second += Step)
        {
            var weight = schedule.RateFrom + (schedule.RateTo - schedule.RateFrom) * second / schedule.Seconds;
            all += weight;
            if (last.FindIndex(start => second <= start) is >= 0 and var cheapest)
                net += weight * (1 - schedule.Fees[cheapest]);
        }

        return net / all;
    }

    // A payment can be settled there when it comes before the last moment at which a charge can begin and be in time.
    private static double LastStart(Schedule schedule, int of)
    {
        for (var at = schedule.Stages.Length - 1; at >= 0; at--)
        {
            var (from, processor) = (schedule.Stages[at].Second, schedule.Stages[at].At[of]);
            var to = at + 1 < schedule.Stages.Length ? schedule.Stages[at + 1].Second : schedule.Seconds;
            var last = at + 1 < schedule.Stages.Length && !schedule.Stages[at + 1].At[of].Failing
                ? to
                : to - processor.DelayMs / 1000.0;
            if (!processor.Failing && processor.DelayMs <= SlowMs && last >= from)
                return last;
        }

        return -1;
    }
}
