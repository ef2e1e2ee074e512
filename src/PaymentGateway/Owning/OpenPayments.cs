using System.Collections.Concurrent;

namespace PaymentGateway.Owning;

/// <summary>
/// The payments in this instance's memory that are not in the books yet, at whatever station. Safe from any thread.
/// </summary>
internal sealed class OpenPayments
{
    private readonly ConcurrentDictionary<Payment, bool> open = new(ReferenceEqualityComparer.Instance);

    public int Count => open.Count;

    public void Add(Payment payment) => open.TryAdd(payment, true);

    /// <summary>To be called when the payment is in the books, parked, or no longer ours.</summary>
    public void Remove(Payment payment) => open.TryRemove(payment, out _);

    /// <summary>Everything this instance took earlier is done; null when nothing is open.</summary>
    public DateTime? Oldest()
    {
        DateTime? oldest = null;
        foreach (var (payment, _) in open)
            if (oldest is null || payment.AcceptedAt < oldest)
                oldest = payment.AcceptedAt;
        return oldest;
    }

    public List<Payment> Snapshot() => open.Select(entry => entry.Key).ToList();
}
