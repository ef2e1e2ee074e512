namespace PaymentGateway.Tests.Chaos;

/// <param name="Acknowledged">Payments with a 202 in the end, when everything was healed.</param>
/// <param name="AdoptedInDoubt">Payments that were handed over as perhaps sent.</param>
/// <param name="LeftByKills">Payments without a settlement that killed instances left, each kill's.</param>
/// <param name="Doubted">Charges that were stored and not answered, by the simulators' count.</param>
/// <param name="LookUps">Look-ups at all processors, and charges that were answered 422.</param>
public sealed record ChaosCaused(
    TimeSpan Length, long Sent, long Acknowledged, long AtFirst, long Settled, IReadOnlyList<ChaosShare> Shares,
    long AdoptedInDoubt, IReadOnlyList<long> LeftByKills, long Doubted, long LookUps,
    IReadOnlyList<ChaosWireFault> WireFaults);

/// <param name="LongOutages">Outages of just the cheaper ones that outlasted the fallback delay by seconds.</param>
public sealed record ChaosShare(string Processor, long Settled, int LongOutages);

/// <summary>The least that a schedule must cause: a gateway that says 503 for ever loses nothing either.</summary>
public static class ChaosFloors
{
    // In the worst schedule of seeds 1 to 5 more than a third had their 202 at the first attempt.
    private const double AtFirstShare = 0.2;

    // An outage past the fallback delay by two seconds leaves some 240 to the next processor; half of that time may be
    // another fault's.
    private const int PerLongOutage = 20;

    public static IEnumerable<string> Missed(ChaosCaused run)
    {
        var planned = (long)(0.9 * ChaosLoad.PerSecond * run.Length.TotalSeconds);
        string?[] missed =
        [
            Below("payments were sent", run.Sent, planned),
            Below("payments have their 202 after everything was healed", run.Acknowledged, run.Sent),
            Below("payments had it at the first attempt", run.AtFirst, (long)(AtFirstShare * run.Sent)),
            Below("payments are settled", run.Settled, run.Acknowledged),
            run.LeftByKills.Count == 0 ? null : Below(
                "payments without a settlement were left by the kills", run.LeftByKills.Sum(), run.LeftByKills.Count),
            Below(
                "payments were adopted in doubt", run.AdoptedInDoubt, run.LeftByKills.DefaultIfEmpty().Max()),
            Below("look-ups or 422 answered doubts", run.LookUps, run.Doubted),
            .. run.Shares.Select(share => Below(
                $"payments went to {share.Processor}", share.Settled, PerLongOutage * share.LongOutages)),
            .. run.WireFaults.GroupBy(fault => fault.Kind).Select(
                kind => Below($"bytes, connections or statements suffered {kind.Key}", kind.Sum(one => one.Hits), 1)),
        ];
        return missed.OfType<string>();
    }

    private static string? Below(string what, long count, long floor) => count >= floor
        ? null
        : string.Create(CultureInfo.InvariantCulture, $"too little happened: {count} {what}, at least {floor} must");
}
