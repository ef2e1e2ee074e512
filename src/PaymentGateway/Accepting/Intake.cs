using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;

namespace PaymentGateway.Accepting;

/// <summary>
/// Accepts payments by group commit: payments that arrive during an INSERT share the next one. Safe from any thread.
/// </summary>
/// <remarks>
/// <para>
/// A client gets its 202 only when its payment is committed, and a commit costs the same for one row as for five
/// hundred. So one loop stores batches, one after another: what arrives while an INSERT is on its way waits, and goes
/// into the next one. A light load has one payment a batch and waits for nothing; a heavy load makes its own batches.
/// </para>
/// <para>
/// One loop alone would let a single server process that hangs stop all payments. An INSERT is therefore in one of
/// three situations, by the time it has taken:
/// </para>
/// <code>
///   quick   up to 100 ms            the loop waits for it
///   slow    longer                  the loop goes on beside it, on another connection
///   stuck   a second one is slow,   the payments that wait are refused by 503, and so are new ones, until one of the
///           and a client's time     two ends: they would wait for their whole limit, and be refused then
///           is over
/// </code>
/// <para>
/// Two connections carry INSERTs, and the third of the connections for batches is usually free for outcomes, so an
/// intake that is stuck does not keep settlements out of the ledger. A page of the backlog, a look-up of known ids or
/// an adoption may take the third for up to 5 s; outcomes wait in memory meanwhile. A client waits at most StoreTimeout
/// in any situation. Its INSERT goes on when it gets 503: a payment that it stores is settled, and a repeat of the
/// request finds it and gets 202.
/// </para>
/// <para>
/// <i>An example.</i> The server process of one connection is frozen with an INSERT of 40 payments. After 100 ms the
/// next batch goes out on the second connection, and 1.5 s after their arrival the 40 get 503. All other clients have
/// noticed nothing. The frozen INSERT ends by the server's statement timeout, or when its connection breaks; in the
/// second case nobody knows whether it was committed, so the epoch ends, and the next one takes over what it finds
/// (<see cref="Epoch"/>).
/// </para>
/// </remarks>
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

    // Completed while no INSERT is slow.
    private volatile Task _slowInserts = Task.CompletedTask;
    private bool _isStoring;
    private bool _isStuck;
    private bool _inBurst;

    private bool IsIdle
    {
        get
        {
            lock (_gate)
                return _waiting.Count == 0 && !_isStoring && _slowInserts.IsCompleted;
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
    /// <param name="payer">Null where no token is needed.</param>
    public Task<AcceptResult> AcceptAsync(
        Guid id, long amountCents, PaymentTrace? trace = null, KnownPayer? payer = null)
    {
        var payment = new Payment(id, amountCents) { Trace = trace };
        payment.Take(clock.GetTimestamp());
        var acceptance = new PendingAcceptance(payment, payer);
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

    private async Task StoreAsync(List<PendingAcceptance> batch)
    {
        // The first payment is the oldest until the writer sorts them; it may already have waited for a slow INSERT.
        var arrivedAt = batch[0].Payment.TakenAt;
        var insert = writer.StoreAsync(batch);
        var isQuick = await EndsAsync(insert, SlowAfter);
        if (isQuick)
            return;

        var slow = AnswerInTimeAsync(batch, insert, arrivedAt);
        var oneEnds = Task.WhenAny(slow, _slowInserts);
        _slowInserts = Task.WhenAll(slow, _slowInserts);
        var mayGoOn = await EndsAsync(oneEnds, RestOf(arrivedAt));
        if (!mayGoOn)
            await RefuseUntilAsync(oneEnds);
    }

    private async Task RefuseUntilAsync(Task oneEnds)
    {
        List<PendingAcceptance> refused;
        lock (_gate)
        {
            _isStuck = true;
            refused = [.. _waiting];
            _waiting.Clear();
        }

        RefuseAll(refused);
        await oneEnds;
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
    /// <summary>Not stored in time; the client may retry. First, so that a result that nobody set acknowledges
    /// nothing.</summary>
    Unavailable,

    /// <summary>Acknowledged, by this or an earlier request with the same id, amount and payer.</summary>
    Accepted,

    /// <summary>The id is known with another amount, or from another payer.</summary>
    Conflict,

    /// <summary>Too many payments wait, or a statement does not answer.</summary>
    Overloaded,
}

/// <summary>
/// A request that waits for its row. The INSERT or the time limit completes it, whichever comes first; the request
/// continues on that thread, which saves a switch.
/// </summary>
internal sealed class PendingAcceptance(Payment payment, KnownPayer? payer = null) : TaskCompletionSource<AcceptResult>
{
    public Payment Payment => payment;

    /// <summary>Its payer's number in the ledger; 0 where no token is needed.</summary>
    public int Payer => payer?.Number ?? 0;
}
