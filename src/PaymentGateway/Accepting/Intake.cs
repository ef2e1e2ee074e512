using PaymentGateway.Telemetry;

namespace PaymentGateway.Accepting;

/// <summary>
/// Accepts payments by group commit: payments that arrive during an INSERT share the next one. A slow INSERT does not
/// block the next. Safe from any thread.
/// </summary>
internal sealed class Intake(
    IntakeWriter writer, DetachedTasks detached, IntakeOptions options, TimeProvider clock) : IHostedService
{
    // After a batch of this size the next INSERT lingers, because a larger INSERT costs less per payment
    // (docs/decisions/0010-one-insert-for-many-payments.md).
    private const int BurstFrom = 8;

    private static readonly TimeSpan SlowAfter = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LeastWait = TimeSpan.FromMilliseconds(50);

    private readonly object _gate = new();
    private readonly List<PendingAcceptance> _waiting = [];

    // A slow INSERT and the next one use two of the connections for batches; the third stores the outcomes.
    private volatile Task _slow = Task.CompletedTask;
    private bool _isStoring;
    private bool _isStuck;
    private bool _inBurst;

    private bool IsIdle
    {
        get
        {
            lock (_gate)
                return _waiting.Count == 0 && !_isStoring && _slow.IsCompleted;
        }
    }

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>The listener is closed by now; received payments are stored before this ends.</summary>
    public async Task StopAsync(CancellationToken cancellationToken)
    {
        while (!IsIdle && !cancellationToken.IsCancellationRequested)
            await Task.Delay(TimeSpan.FromMilliseconds(10), clock, CancellationToken.None);
    }

    /// <returns>Within StoreTimeout; Accepted only when the row is committed.</returns>
    public Task<AcceptResult> AcceptAsync(Guid id, long amountCents, PaymentTrace? trace = null)
    {
        var payment = new Payment(id, amountCents) { Trace = trace };
        payment.Take(clock.GetTimestamp());
        var acceptance = new PendingAcceptance(payment);
        lock (_gate)
        {
            // While INSERTs are stuck, a payment would wait and then be refused anyway.
            if (_waiting.Count >= options.MaxWaiting || _isStuck)
                return Task.FromResult(AcceptResult.Overloaded);

            _waiting.Add(acceptance);
            if (_isStoring)
                return acceptance.Task;

            _isStoring = true;
        }

        detached.Add(StoreWaitingAsync());
        return acceptance.Task;
    }

    private async Task StoreWaitingAsync()
    {
        while (HasNext(out var lingers))
        {
            if (lingers)
                await Task.Delay(options.Linger, clock);
            await StoreAsync(TakeBatch());
        }
    }

    // False when nothing waits; the next payment then starts the loop again.
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
            var batch = _waiting.GetRange(0, Math.Min(_waiting.Count, options.MaxBatch));
            _waiting.RemoveRange(0, batch.Count);
            _inBurst = batch.Count >= BurstFrom;
            return batch;
        }
    }

    // A connection or server process that hangs delays only its own payments.
    private async Task StoreAsync(List<PendingAcceptance> batch)
    {
        // The first payment is the oldest until the writer sorts them; it may already have waited for a slow INSERT.
        var arrivedAt = batch[0].Payment.TakenAt;
        var storing = writer.StoreAsync(batch);
        if (await EndsAsync(storing, SlowAfter))
            return;

        var slow = AnswerInTimeAsync(batch, storing, arrivedAt);
        var free = Task.WhenAny(slow, _slow);
        _slow = Task.WhenAll(slow, _slow);
        if (await EndsAsync(free, RestOf(arrivedAt)))
            return;

        List<PendingAcceptance> refused;
        lock (_gate)
        {
            _isStuck = true;
            refused = [.. _waiting];
            _waiting.Clear();
        }

        RefuseAll(refused);
        await free;
        lock (_gate)
            _isStuck = false;
    }

    // The client's wait is bounded, but the statement goes on: the payments that it stores are settled.
    private async Task AnswerInTimeAsync(List<PendingAcceptance> batch, Task storing, long arrivedAt)
    {
        if (!await EndsAsync(storing, RestOf(arrivedAt)))
            RefuseAll(batch);
        await storing;
    }

    private static void RefuseAll(List<PendingAcceptance> batch) =>
        batch.ForEach(static acceptance => acceptance.TrySetResult(AcceptResult.Unavailable));

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

internal enum AcceptResult
{
    /// <summary>Acknowledged, by this or an earlier request with the same id and amount.</summary>
    Accepted,

    /// <summary>The id is known with another amount.</summary>
    Conflict,

    /// <summary>Too many payments wait, or a statement does not answer.</summary>
    Overloaded,

    /// <summary>Not stored in time; the client may retry.</summary>
    Unavailable,
}

/// <summary>
/// A request that waits for its row. The INSERT or the time limit completes it, whichever comes first; the request
/// continues on that thread, which saves a switch.
/// </summary>
internal sealed class PendingAcceptance(Payment payment) : TaskCompletionSource<AcceptResult>
{
    public Payment Payment => payment;
}
