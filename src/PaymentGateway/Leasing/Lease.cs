using System.Collections.Concurrent;
using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>This instance's right to charge: its current <see cref="Epoch"/>. Safe from any thread.</summary>
internal sealed class Lease
{
    private readonly IntakeOptions _intake;
    private readonly DoubtNotes _notes;
    private readonly TimeProvider _clock;

    // A tenth less than the database's lease, because clocks do not run alike.
    private readonly TimeSpan _validFor;
    private readonly ConcurrentDictionary<int, Epoch> _former = new();
    private volatile Epoch _current;
    private TaskCompletionSource _next = New();
    private TaskCompletionSource _nextCheck = New();

    public Lease(LeasingOptions options, IntakeOptions intake, DoubtNotes notes, TimeProvider clock)
    {
        (_validFor, _intake, _notes, _clock) = (options.LeaseDuration * 0.9, intake, notes, clock);
        CheckSoon = new AsyncAutoResetEvent(clock);
        _current = Of(Owners.Nobody, LedgerState.Unknown, default, DateTime.UnixEpoch);
        _current.End();
    }

    /// <summary>The newest epoch, which may have ended.</summary>
    public Epoch Current => _current;

    /// <summary>False: another instance may own its payments.</summary>
    public bool IsTrusted => Current.IsTrusted;

    /// <summary>Ended epochs whose payments this instance has perhaps not taken over yet, by number.</summary>
    public IReadOnlyDictionary<int, Epoch> Former => _former;

    /// <summary>Set when the epoch or the ledger may have changed: the keeper asks the database at once.</summary>
    public AsyncAutoResetEvent CheckSoon { get; }

    /// <summary>The last check before the first byte of a charge.</summary>
    public bool MayCharge(Payment payment) => Current is var epoch && epoch.Number == payment.Epoch && epoch.MayCharge;

    /// <summary>Begins the next epoch and ends the current one.</summary>
    /// <param name="opened">The number that the database gave.</param>
    /// <param name="askedAt">Monotonic timestamp from before the statement was sent.</param>
    public Epoch Begin(int opened, LedgerState ledger, ProcessorSet used, long askedAt)
    {
        var before = _current;
        var next = Of(opened, ledger, used, before.Acceptances.Latest);
        NoteRenewed(next, askedAt);
        // The other way round, a charge could find its epoch current and not ended, while the next one takes over.
        before.End();
        if (before.Number != Owners.Nobody)
            _former[before.Number] = before;
        _current = next;
        Interlocked.Exchange(ref _next, New()).TrySetResult();
        return next;
    }

    /// <summary>Extends an epoch after a renewal; it may still be lost.</summary>
    /// <param name="askedAt">Monotonic timestamp from before the statement was sent.</param>
    public void NoteRenewed(Epoch renewed, long askedAt) => renewed.Trust(askedAt + _clock.TicksOf(_validFor));

    /// <summary>Its payments are taken over, by this instance or another one.</summary>
    public void Forget(int ended) => _former.TryRemove(ended, out _);

    /// <summary>
    /// Runs a loop for the current epoch, and once more for each that begins later; one that ends before its turn is
    /// left out. Completes when a loop ends by itself, otherwise never.
    /// </summary>
    /// <param name="loop">Its token is cancelled when the epoch ends, too.</param>
    public async Task RunEachAsync(Func<Epoch, CancellationToken, Task> loop, CancellationToken stopping)
    {
        for (Epoch? last = null; ;)
        {
            var next = Volatile.Read(ref _next).Task;
            var epoch = Current;
            if (epoch == last || epoch.HasEnded)
            {
                await next.WaitAsync(stopping);
                continue;
            }

            // Not disposed, because what the loop has begun may outlast it.
            var ends = CancellationTokenSource.CreateLinkedTokenSource(stopping, epoch.Ended).Token;
            epoch.Enter();
            try
            {
                await loop(last = epoch, ends);
            }
            catch (OperationCanceledException) when (epoch.HasEnded && !stopping.IsCancellationRequested)
            {
                // The next epoch takes its payments over.
            }
            finally
            {
                epoch.Leave();
            }

            if (!epoch.HasEnded)
                return;
        }
    }

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

    public void NoteChecked() => Interlocked.Exchange(ref _nextCheck, New()).TrySetResult();

    private Epoch Of(int number, LedgerState ledger, ProcessorSet used, DateTime after) =>
        new(number, ledger, used, after, CheckSoon, _intake, _notes, _clock);

    private static TaskCompletionSource New() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
