using System.Threading.Channels;

namespace PaymentGateway.Queueing;

/// <summary>
/// Payments in doubt for the resolver, from own calls and from adoption, and the doubts that began or ended since they
/// were last published. Any thread may add; one reader takes.
/// </summary>
internal sealed class DoubtQueue(TimeProvider clock)
{
    // The reader runs on in the writer's thread: a hop to another thread costs more than beginning a look-up.
    private readonly Channel<Payment> _channel = Channel.CreateUnbounded<Payment>(
        new UnboundedChannelOptions { SingleReader = true, AllowSynchronousContinuations = true });

    private readonly int[] _countAt = new int[(int)Processor.Fallback + 1];
    private readonly object _gate = new();
    private Dictionary<Payment, bool> _changes = New();
    private int _count;

    /// <summary>How many are in doubt in this instance's memory, whether taken or not.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>Set when there is a change to publish.</summary>
    public AsyncAutoResetEvent Changed { get; } = new(clock);

    public int CountAt(Processor processor) => Volatile.Read(ref _countAt[(int)processor]);

    /// <summary>Takes a payment that is in doubt; ChargedAt says where, DoubtSince since when.</summary>
    public void Add(Payment payment)
    {
        Interlocked.Increment(ref _count);
        if (payment.ChargedAt is { } at)
            Interlocked.Increment(ref _countAt[(int)at]);
        Begin(payment);
        _channel.Writer.TryWrite(payment);
    }

    /// <summary>All payments as they come; <see cref="Leave"/> is due for each.</summary>
    public IAsyncEnumerable<Payment> TakeAllAsync(CancellationToken cancellation) =>
        _channel.Reader.ReadAllAsync(cancellation);

    /// <summary>One that was taken is resolved, or no longer this instance's.</summary>
    /// <param name="at">Its ChargedAt when it was taken.</param>
    public void Leave(Processor? at)
    {
        Interlocked.Decrement(ref _count);
        if (at is { } processor)
            Interlocked.Decrement(ref _countAt[(int)processor]);
    }

    /// <summary>Publishes that a payment is in doubt.</summary>
    public void Begin(Payment payment) => Note(payment, begun: true);

    /// <summary>Publishes that a payment surely was not charged, and goes on.</summary>
    public void End(Payment payment) => Note(payment, begun: false);

    /// <summary>Publishes nothing: a settlement ends the doubt for each reader, or another instance has it.</summary>
    public void Forget(Payment payment)
    {
        lock (_gate)
            _changes.Remove(payment);
    }

    /// <summary>Takes all changes; true is a doubt that began.</summary>
    public Dictionary<Payment, bool> TakeChanges()
    {
        lock (_gate)
        {
            var taken = _changes;
            _changes = New();
            return taken;
        }
    }

    /// <summary>Takes back the changes that were not published, except where a newer one exists.</summary>
    public void ReturnChanges(Dictionary<Payment, bool> unpublished)
    {
        lock (_gate)
            foreach (var (payment, begun) in unpublished)
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
