using System.Threading.Tasks.Sources;
using PaymentGateway.Configuration;
using PaymentGateway.Leasing;
using PaymentGateway.Queueing;
using PaymentGateway.Storage;

namespace PaymentGateway.Accepting;

/// <summary>
/// Takes payments in by group commit: one INSERT is in flight, what comes meanwhile goes into the next one together,
/// and a lone payment goes at once. A slow one lets the next ones pass. Safe from any thread.
/// </summary>
internal sealed class Intake(IntakeWriter writer, IntakeOptions options, TimeProvider clock)
    : IHostedService, IDisposable
{
    // So many in one INSERT: payments come faster than it ends, and a larger one costs less for each
    // (docs/decisions/0010-one-insert-for-many-payments.md).
    private const int BurstFrom = 8;

    // With the outcomes' one these are the connections for batches.
    private const int SlowMax = 2;

    private static readonly TimeSpan SlowAfter = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LeastWait = TimeSpan.FromMilliseconds(50);

    private readonly BatchTimer _batchTimer = new(options.Linger, "acceptances");

    private readonly object _gate = new();
    private List<PendingAcceptance> _waiting = [];
    private readonly List<Task> _slow = [];
    private bool _isStoring;
    private bool _isStuck;
    private bool _inBurst;

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>The listener is closed by now; what was received and not yet stored is stored.</summary>
    public async Task StopAsync(CancellationToken cancellationToken)
    {
        while (!IsIdle && !cancellationToken.IsCancellationRequested)
            await Task.Delay(TimeSpan.FromMilliseconds(10), clock, CancellationToken.None);
    }

    public void Dispose() => _batchTimer.Dispose();

    /// <summary>Takes one payment in.</summary>
    /// <returns>Within StoreTimeout; Accepted only when the row is committed.</returns>
    public ValueTask<AcceptResult> AcceptAsync(Guid id, long amountCents, PaymentTrace? trace = null)
    {
        var acceptance = new PendingAcceptance(id, amountCents, clock.GetTimestamp()) { Trace = trace };
        lock (_gate)
        {
            // While no statement answers, waiting would only be a slower no.
            if (_waiting.Count >= options.MaxWaiting || _isStuck)
                return new ValueTask<AcceptResult>(AcceptResult.Overloaded);

            _waiting.Add(acceptance);
            if (_isStoring)
                return acceptance.Result;

            _isStoring = true;
        }

        _ = StoreWaitingAsync();
        return acceptance.Result;
    }

    private bool IsIdle
    {
        get
        {
            lock (_gate)
                return _waiting.Count == 0 && !_isStoring && _slow.TrueForAll(storing => storing.IsCompleted);
        }
    }

    private async Task StoreWaitingAsync()
    {
        while (HasNext(out var lingers))
        {
            if (lingers)
                await _batchTimer.NextAsync();
            await StoreAsync(TakeBatch());
        }
    }

    // False when nothing waits: then the next payment begins again.
    private bool HasNext(out bool lingers)
    {
        lock (_gate)
        {
            _isStoring = _waiting.Count > 0;
            lingers = _inBurst && _waiting.Count < options.MaxBatch;
            return _isStoring;
        }
    }

    private List<PendingAcceptance> TakeBatch()
    {
        lock (_gate)
        {
            List<PendingAcceptance> batch;
            if (_waiting.Count <= options.MaxBatch)
            {
                (batch, _waiting) = (_waiting, []);
            }
            else
            {
                batch = _waiting.GetRange(0, options.MaxBatch);
                _waiting.RemoveRange(0, batch.Count);
            }

            _inBurst = batch.Count >= BurstFrom;
            return batch;
        }
    }

    // What hangs by itself, by its connection or its server process, holds up nobody but its own payments.
    private async Task StoreAsync(List<PendingAcceptance> batch)
    {
        // The first is the oldest, until the writer sorts them; it may have waited for a permit already.
        var arrivedAt = batch[0].ArrivedAt;
        var storing = writer.StoreAsync(batch);
        if (storing.IsCompleted || await EndsAsync(storing, SlowAfter))
        {
            await storing;
            return;
        }

        lock (_gate)
        {
            _slow.RemoveAll(other => other.IsCompleted);
            _slow.Add(AnswerInTimeAsync(batch, storing, arrivedAt));
            if (_slow.Count < SlowMax)
                return;
        }

        var free = Task.WhenAny(_slow);
        if (await EndsAsync(free, RestOf(arrivedAt)))
            return;

        List<PendingAcceptance> refused;
        lock (_gate)
        {
            _isStuck = true;
            (refused, _waiting) = (_waiting, []);
        }

        PendingAcceptance.CompleteAll(refused, AcceptResult.Unavailable);
        await free;
        lock (_gate)
            _isStuck = false;
    }

    // Bounds the clients' wait without giving the statement up: what it stores is settled all the same.
    private async Task AnswerInTimeAsync(List<PendingAcceptance> batch, Task storing, long arrivedAt)
    {
        if (!await EndsAsync(storing, RestOf(arrivedAt)))
            PendingAcceptance.CompleteAll(batch, AcceptResult.Unavailable);
        await storing;
    }

    private TimeSpan RestOf(long arrivedAt)
    {
        var rest = options.StoreTimeout - clock.GetElapsedTime(arrivedAt);
        return rest > LeastWait ? rest : LeastWait;
    }

    private async Task<bool> EndsAsync(Task storing, TimeSpan limit)
    {
        try
        {
            await storing.WaitAsync(limit, clock);
            return true;
        }
        catch (TimeoutException)
        {
            return false;
        }
    }
}

/// <summary>The answer to a client.</summary>
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

    /// <summary>The arguments of the INSERT, in the order of the batch.</summary>
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
