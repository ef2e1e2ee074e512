using System.Threading.Tasks.Sources;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Accepting;

/// <summary>What a client is told.</summary>
internal enum AcceptResult
{
    /// <summary>Acknowledged: by this or by an earlier request with the same id and amount.</summary>
    Accepted,

    /// <summary>The id is known with another amount.</summary>
    Conflict,

    /// <summary>Too much is waiting, or a statement does not answer.</summary>
    Overloaded,

    /// <summary>It could not be stored in time; it may be repeated.</summary>
    Unavailable,
}

/// <summary>
/// One request that waits for its row. Completed once, by whoever comes first: the store or the time limit.
/// </summary>
internal sealed class PendingAcceptance(Guid id, long amountCents, long arrivedAt) : IValueTaskSource<AcceptResult>
{
    // Runs on in the storing thread: the 202 leaves without a hop.
    private ManualResetValueTaskSourceCore<AcceptResult> _source;
    private int _completed;

    public Guid Id { get; } = id;

    public long AmountCents { get; } = amountCents;

    /// <summary>Monotonic timestamp of the request.</summary>
    public long ArrivedAt { get; } = arrivedAt;

    /// <summary>Null while nobody listens.</summary>
    public PaymentTrace? Trace { get; init; }

    public ValueTask<AcceptResult> Result => new(this, _source.Version);

    public void Complete(AcceptResult result)
    {
        if (Interlocked.Exchange(ref _completed, 1) == 0)
            _source.SetResult(result);
    }

    public static void CompleteAll(List<PendingAcceptance> batch, AcceptResult result)
    {
        foreach (var acceptance in batch)
            acceptance.Complete(result);
    }

    /// <summary>What stores a batch, in its order.</summary>
    public static StoreArgs ToStore(List<PendingAcceptance> batch, AcceptanceBatch times, int epoch)
    {
        var args = new StoreArgs(new Guid[batch.Count], new long[batch.Count], new DateTime[batch.Count], epoch);
        for (var i = 0; i < batch.Count; i++)
        {
            args.Ids[i] = batch[i].Id;
            args.AmountsCents[i] = batch[i].AmountCents;
            args.AcceptedAts[i] = times.At(i);
        }

        return args;
    }

    public AcceptResult GetResult(short token) => _source.GetResult(token);

    public ValueTaskSourceStatus GetStatus(short token) => _source.GetStatus(token);

    public void OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);
}
