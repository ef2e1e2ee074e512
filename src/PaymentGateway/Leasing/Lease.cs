using PaymentGateway.Queueing;
using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>
/// This instance's right to charge. It counts by the monotonic clock from before the renewal was sent, so it ends here
/// before it ends in the database. Safe from any thread.
/// </summary>
internal sealed class Lease(TimeProvider clock, LeasingOptions options)
{
    // A tenth less than the database's lease, because clocks do not run alike.
    private readonly TimeSpan _validFor = options.LeaseDuration * 0.9;
    private long _heldUntil;
    private int _epoch = PaymentStates.Nobody;
    private volatile UsedProcessors _wanted = new(PaymentStates.Nobody, default);
    private volatile UsedProcessors _stored = new(PaymentStates.Nobody, default);
    private long _lastNumber;
    private TaskCompletionSource _nextCheck = NewCheck();

    /// <summary>The owner of payments that are accepted now; Nobody without a lease.</summary>
    public int Epoch => Volatile.Read(ref _epoch);

    /// <summary>False: no charge may be sent now.</summary>
    public bool IsHeld => Epoch != PaymentStates.Nobody && clock.GetTimestamp() < Volatile.Read(ref _heldUntil);

    /// <summary>False is final: the payment's epoch was lost, so others adopt it.</summary>
    public bool Owns(Payment payment) => payment.Epoch == Epoch;

    /// <summary>The processors that the next renewal has to store as used by this epoch.</summary>
    public ProcessorSet Wanted => _wanted.Of(Epoch);

    /// <summary>
    /// Whether the database has stored that the payment's epoch uses a processor; an adopter asks no other. If not, the
    /// next renewal stores it. One thread at a time.
    /// </summary>
    public bool MayUse(Processor processor, Payment payment)
    {
        if (_stored.Of(payment.Epoch).Contains(processor))
            return true;

        var wanted = _wanted.Of(payment.Epoch);
        if (!wanted.Contains(processor))
        {
            _wanted = new UsedProcessors(payment.Epoch, wanted | ProcessorSet.Of(processor));
            CheckSoon.Set();
        }

        return false;
    }

    /// <summary>Notes that the database has stored these processors for an epoch, beside earlier ones.</summary>
    public void Stored(int current, ProcessorSet used) =>
        _stored = new UsedProcessors(current, _stored.Of(current) | used);

    /// <summary>Numbers a renewal or an adoption; the database ignores one after a newer one.</summary>
    public long NextNumber() => Interlocked.Increment(ref _lastNumber);

    /// <param name="current">The epoch that the database opened.</param>
    /// <param name="askedAt">Monotonic timestamp from before the statement was sent.</param>
    public void Confirm(int current, long askedAt)
    {
        Renewed(askedAt);
        Volatile.Write(ref _epoch, current);
    }

    /// <summary>Extends the lease after a renewal; the epoch may still be lost.</summary>
    /// <inheritdoc cref="Confirm"/>
    public void Renewed(long askedAt) => Volatile.Write(ref _heldUntil, askedAt + clock.TicksOf(_validFor));

    /// <summary>Set when the epoch or the ledger may have changed: the keeper asks the database at once.</summary>
    public AsyncAutoResetEvent CheckSoon { get; } = new(clock);

    /// <summary>Completes when the keeper has checked epoch and ledger once more, and handled the changes.</summary>
    public async Task NextCheckAsync(CancellationToken cancellation)
    {
        // Wait for two checks, because the first one may have begun before this call.
        for (var checks = 0; checks < 2; checks++)
        {
            CheckSoon.Set();
            await Volatile.Read(ref _nextCheck).Task.WaitAsync(cancellation);
        }
    }

    public void Checked() => Interlocked.Exchange(ref _nextCheck, NewCheck()).TrySetResult();

    /// <summary>Ends an epoch that was closed or is given up; a later epoch stays.</summary>
    public void Lose(int ended) => Interlocked.CompareExchange(ref _epoch, PaymentStates.Nobody, ended);

    private static TaskCompletionSource NewCheck() => new(TaskCreationOptions.RunContinuationsAsynchronously);

    private sealed record UsedProcessors(int Epoch, ProcessorSet Used)
    {
        public ProcessorSet Of(int epoch) => epoch == Epoch ? Used : default;
    }
}
