using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>
/// The time in which this instance owns what it accepts or adopts, with everything in memory that belongs to it.
/// </summary>
/// <remarks>
/// <para>
/// An instance charges a payment only while it owns it, and it owns it only by an epoch: a row of the table leases,
/// whose number stands in each payment's row. The instance renews the epoch once a second, and trusts it for nine
/// tenths of the lease from before each renewal was sent. So it stops charging before PostgreSQL lets another instance
/// close the epoch. A closed epoch can neither be renewed nor store a payment, and it never opens again.
/// </para>
/// <para>
/// Memory and table must not disagree about what the epoch owns, because a payment that memory lacks would wait for
/// ever, and one that the table lacks could be charged by somebody else. Where they may disagree, the instance does not
/// repair its memory piece by piece. It drops the epoch with all that it holds, begins the next one, and takes its
/// payments over from the table, by the same code that adopts those of a terminated instance:
/// </para>
/// <code>
///   what happened                                 why the table may know more, or less
///   an INSERT of payments broke                   they may be stored, or still be stored later
///   an adoption broke                             payments may belong to this epoch, and are not in memory
///   the ledger was purged, or emptied by a crash  payments in memory are not in the table any more
///   the lease was lost, and another closed it     payments may belong to others
///   an assertion of a payment's life failed       memory is wrong
///
///              Spoil                End                         rest                  adopted
///   current ---------> not renewed -----> former, charges in --------> closed, taken ---------> forgotten
///      |               any more      ^     flight are answered          over page by page
///      |                             |
///      +-----------------------------+  another instance closed it, or an assertion failed: it ends at once
/// </code>
/// <para>
/// <i>Spoil</i> says that the epoch must not be renewed: a renewal could raise the low-water mark above rows that
/// memory does not know, and nobody would search for them. Its payments are charged on until the next epoch has begun,
/// because each of them is known to be owned; only a purge stops the charges before. <i>End</i> stops them all at once:
/// the loops of the epoch end, and the last check before a charge's first byte fails. A charge in flight is answered,
/// and its outcome is recorded, because outcomes are true whoever owns the payment. The epoch is at rest when the
/// ledger has the last outcome. Only then the next epoch takes over, so no payment is in two hands.
/// </para>
/// <para>
/// The next epoch keeps what this process remembers of a payment: one that waits is not put in doubt, and one in doubt
/// keeps its horizon (<see cref="Find"/>, <see cref="IsSurelyUnsent"/>). A payment that memory does not have is taken
/// over like one of another instance, because it may have been sent.
/// No other instance adopts a closed epoch while its own instance has an open one (AdoptionStore.OrphanedSql).
/// </para>
/// <para>
/// <i>An example.</i> The connection of an INSERT breaks while 20,000 payments are queued. The epoch, 7, is spoiled.
/// The keeper opens epoch 8 and ends epoch 7; ten charges are in flight, and are answered within milliseconds. The next
/// renewal closes epoch 7, so the broken INSERT stores nothing more unless it began before. Pages of 2,500 payments go
/// from 7 to 8 in the table, and the same objects from one queue to the other in memory. The search of epoch 7 ends
/// when every transaction has ended that was writing payments after its close; it finds what the INSERT has stored,
/// whose client got 503, and settles it.
/// </para>
/// </remarks>
/// <param name="ledger">As it was before the epoch began.</param>
/// <param name="used">The processors that its lease names as used.</param>
/// <param name="after">No acceptance of this process has a later time (UTC).</param>
/// <param name="checkSoon">Set when the keeper has something to do for the epoch.</param>
[SuppressMessage(
    "Design", "CA1001", Justification = "Its token is used after its end, and a source without a timer holds nothing.")]
internal sealed class Epoch(
    int number, LedgerState ledger, ProcessorSet used, DateTime after, AsyncAutoResetEvent checkSoon,
    IntakeOptions options, DoubtNotes notes, TimeProvider clock)
{
    private readonly CancellationTokenSource _ends = new();
    private long _heldUntil;
    private long _lastRenewal;
    private int _users;
    private volatile string? _spoiledBy;
    private volatile bool _chargesAreStopped;
    private volatile object? _adoptingFrom;
    private int _stored = used.Bits;
    private int _wanted = used.Bits;
    private Dictionary<Guid, Payment>? _byId;

    /// <summary>Its number owns payments in the table; Nobody before the first epoch.</summary>
    public int Number => number;

    /// <summary>The ledger that the epoch began in. On another one, its payments may be gone.</summary>
    public LedgerState Ledger => ledger;

    public AcceptanceClock Acceptances { get; } = new(clock, after);

    /// <summary>Payments that it has accepted, and that did not fit into the queue.</summary>
    public StoredBacklog Backlog { get; } = new(clock);

    /// <summary>Its payments in memory, of all stages.</summary>
    public UnsettledPayments Unsettled { get; } = new(clock);

    public PaymentQueue Queue { get; } = new(options);

    public DoubtQueue Doubts { get; } = new(notes);

    /// <summary>Cancelled by <see cref="End"/>.</summary>
    public CancellationToken Ended => _ends.Token;

    public bool HasEnded => _ends.IsCancellationRequested;

    /// <summary>
    /// Why it must not be renewed, for people; the next epoch begins as soon as PostgreSQL answers. Null where it may.
    /// </summary>
    public string? SpoiledBy => _spoiledBy;

    public bool IsSpoiled => _spoiledBy is not null;

    /// <summary>False: no charge may be sent now.</summary>
    public bool MayCharge => IsTrusted && !_chargesAreStopped;

    /// <summary>False: another instance may own its payments.</summary>
    public bool IsTrusted => !HasEnded && clock.GetTimestamp() < Volatile.Read(ref _heldUntil);

    /// <summary>It has ended, nothing uses its payments any more, and the ledger has their outcomes.</summary>
    public bool IsAtRest => HasEnded && Volatile.Read(ref _users) == 0;

    /// <summary>The processors that the next renewal has to store as used.</summary>
    public ProcessorSet Wanted => new((short)Volatile.Read(ref _wanted));

    /// <summary>Extends it after a renewal, counted by the monotonic clock.</summary>
    /// <param name="until">Monotonic timestamp, from before the renewal was sent.</param>
    public void Trust(long until) => Volatile.Write(ref _heldUntil, until);

    /// <summary>The table may know more than memory, or less (the remarks above).</summary>
    /// <param name="why">What happened, for the log; only the first reason counts.</param>
    public void Spoil(string why)
    {
        if (Interlocked.CompareExchange(ref _spoiledBy, why, null) is null)
            checkSoon.Set();
    }

    /// <summary>
    /// The ledger was emptied, so nothing of this epoch may be charged. The epoch still accepts payments, which the
    /// next one takes over.
    /// </summary>
    public void StopCharges() => _chargesAreStopped = true;

    /// <summary>Nothing is charged any more; outcomes of charges in flight are still recorded.</summary>
    public void End()
    {
        _ends.Cancel();
        Queue.Latch();
    }

    /// <summary>A loop, a charge or an outcome begins to use its payments; <see cref="Leave"/> follows.</summary>
    public void Enter() => Interlocked.Increment(ref _users);

    public void Leave()
    {
        if (Interlocked.Decrement(ref _users) == 0 && HasEnded)
            checkSoon.Set();
    }

    /// <summary>
    /// Whether the database has stored that the epoch uses a processor; an adopter asks no other. If not, the next
    /// renewal stores it.
    /// </summary>
    public bool MayUse(Processor processor)
    {
        int one = ProcessorSet.Of(processor).Bits;
        if ((Volatile.Read(ref _stored) & one) != 0)
            return true;

        if ((Interlocked.Or(ref _wanted, one) & one) == 0)
            checkSoon.Set();
        return false;
    }

    /// <summary>Notes that the database has stored these processors, beside earlier ones.</summary>
    public void NoteStored(ProcessorSet processors) => Interlocked.Or(ref _stored, processors.Bits);

    /// <summary>Numbers a renewal or an adoption; the database ignores one after a newer one.</summary>
    public long NextRenewal() => Interlocked.Increment(ref _lastRenewal);

    /// <summary>Begins an adoption of payments that are not older than <paramref name="from"/> (UTC).</summary>
    public void BeginAdoption(DateTime from) => _adoptingFrom = from;

    /// <summary>Ends it: each adopted payment is unsettled in memory, or the epoch is spoiled.</summary>
    public void EndAdoption() => _adoptingFrom = null;

    /// <summary>
    /// Every payment that the epoch took before this time (UTC) is settled, parked or owned by another epoch, so an
    /// adopter searches from here. The unsettled payments are read last: an accepted, loaded or adopted payment enters
    /// them before it leaves its source, so one that moves meanwhile is seen at least once.
    /// </summary>
    public DateTime ReadLowWaterMark() =>
        new[] { Acceptances.Oldest(), Backlog.Oldest(), (DateTime?)_adoptingFrom, Unsettled.Oldest() }.Min()!.Value;

    /// <summary>An acceptance that this epoch has in memory, when it is at rest; null where it has none.</summary>
    public Payment? Find(Guid id, DateTime acceptedAt)
    {
        if (_byId is null)
        {
            _byId = [];
            // Of two acceptances of an id a purge has deleted the earlier one.
            foreach (var payment in Unsettled.Snapshot().OrderBy(payment => payment.AcceptedAt))
                _byId[payment.Id] = payment;
        }

        return _byId.GetValueOrDefault(id) is { } known && known.AcceptedAt == acceptedAt ? known : null;
    }

    /// <summary>It was accepted at that time (UTC) and never loaded into memory, so no charge of it was sent.</summary>
    public bool IsSurelyUnsent(DateTime acceptedAt) => Backlog.Contains(acceptedAt);
}

/// <summary>The unsettled payments of an epoch in memory, of all stages. Safe from any thread.</summary>
internal sealed class UnsettledPayments(TimeProvider clock)
{
    private readonly ConcurrentDictionary<Payment, bool> _unsettled = new(ReferenceEqualityComparer.Instance);

    public int Count => _unsettled.Count;

    public void Add(Payment payment)
    {
        payment.Take(clock.GetTimestamp());
        _unsettled.TryAdd(payment, true);
    }

    public void Remove(Payment payment) => _unsettled.TryRemove(payment, out _);

    /// <summary>The acceptance time of the oldest one; null when nothing is unsettled.</summary>
    public DateTime? Oldest()
    {
        DateTime? oldest = null;
        foreach (var (payment, _) in _unsettled)
            if (oldest is null || payment.AcceptedAt < oldest)
                oldest = payment.AcceptedAt;
        return oldest;
    }

    public List<Payment> Snapshot() => _unsettled.Select(entry => entry.Key).ToList();
}
