using PaymentGateway.Metering;
using PaymentGateway.Storage;

namespace PaymentGateway.Accepting;

/// <summary>What came of a batch.</summary>
/// <param name="Args">As it was stored.</param>
/// <param name="Mine">Which of it is new, and so ours to settle; null when all is.</param>
/// <param name="Known">What each of it is answered; null when all is accepted.</param>
internal sealed record StoredBatch(StoreArgs Args, bool[]? Mine = null, AcceptResult[]? Known = null)
{
    /// <summary>Counts what is new, what was known, and what was known with another amount.</summary>
    public void CountIn(GatewayMetrics metrics)
    {
        var (accepted, duplicates, conflicts) = (Args.Ids.Length, 0, 0);
        for (var i = 0; i < Mine?.Length; i++)
        {
            if (Mine[i])
                continue;

            accepted--;
            if (Known![i] == AcceptResult.Accepted)
                duplicates++;
            else if (Known[i] == AcceptResult.Conflict)
                conflicts++;
        }

        metrics.Accepted.Add(accepted);
        if (duplicates > 0)
            metrics.Duplicates.Add(duplicates);
        if (conflicts > 0)
            metrics.Refused.Add(conflicts, Reasons.Conflict);
    }
}
