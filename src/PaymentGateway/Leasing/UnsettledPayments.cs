using System.Collections.Concurrent;

namespace PaymentGateway.Leasing;

/// <summary>This instance's unsettled payments, of all stages. Safe from any thread.</summary>
internal sealed class UnsettledPayments(TimeProvider clock)
{
    private readonly ConcurrentDictionary<Payment, bool> _unsettled = new(ReferenceEqualityComparer.Instance);

    private int _generation;

    public int Count => _unsettled.Count;

    /// <summary>Rises with each purge that this instance notices.</summary>
    public int Generation => Volatile.Read(ref _generation);

    /// <summary>Adds the payments of a statement, unless a purge was noticed since it was sent.</summary>
    /// <param name="payments">The payments that the statement read or stored.</param>
    /// <param name="since">The generation from before it was sent.</param>
    /// <returns>False: nothing was added, because some may have been purged. The table has the rest.</returns>
    public bool TryAdd(IReadOnlyCollection<Payment> payments, int since)
    {
        foreach (var payment in payments)
            Add(payment);
        // The generation is read after the additions: a purge that is noticed later finds them here.
        Interlocked.MemoryBarrier();
        if (Generation == since)
            return true;

        foreach (var payment in payments)
            Remove(payment);
        return false;
    }

    /// <summary>Begins the generation after a purge; returns the payments from before, which may be purged.</summary>
    public List<Payment> BeginGeneration()
    {
        Interlocked.Increment(ref _generation);
        return Snapshot();
    }

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
