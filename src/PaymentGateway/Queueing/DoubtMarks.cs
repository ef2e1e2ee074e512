
namespace PaymentGateway.Queueing;

/// <summary>
/// Doubts that began or ended and that the database has not been told of. Safe from any thread; it holds only payments
/// that are, or were a moment ago, in doubt.
/// </summary>
internal sealed class DoubtMarks(TimeProvider clock)
{
    private readonly object _gate = new();
    private Dictionary<Payment, bool> _changes = New();

    /// <summary>Set when there is something to tell.</summary>
    public AsyncAutoResetEvent Changed { get; } = new(clock);

    /// <summary>A payment is in doubt.</summary>
    public void Begin(Payment payment) => Note(payment, begun: true);

    /// <summary>It surely was not charged, and goes on.</summary>
    public void End(Payment payment) => Note(payment, begun: false);

    /// <summary>It is settled, which ends the doubt for whoever reads, or no longer this instance's.</summary>
    public void Forget(Payment payment)
    {
        lock (_gate)
            _changes.Remove(payment);
    }

    /// <summary>Takes all changes; true is a doubt that began.</summary>
    public Dictionary<Payment, bool> TakeAll()
    {
        lock (_gate)
        {
            var taken = _changes;
            _changes = New();
            return taken;
        }
    }

    /// <summary>Takes changes back that could not be told, but for what has changed since.</summary>
    public void Return(Dictionary<Payment, bool> untold)
    {
        lock (_gate)
            foreach (var (payment, begun) in untold)
                _changes.TryAdd(payment, begun);
    }

    private void Note(Payment payment, bool begun)
    {
        lock (_gate)
            _changes[payment] = begun;
        Changed.Set();
    }

    private static Dictionary<Payment, bool> New() => new(ReferenceEqualityComparer.Instance);
}
