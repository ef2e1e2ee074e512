using System.Collections.Concurrent;

namespace PaymentGateway.Leasing;

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
