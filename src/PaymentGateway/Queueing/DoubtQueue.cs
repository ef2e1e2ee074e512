using System.Numerics;
using System.Threading.Channels;

namespace PaymentGateway.Queueing;

/// <summary>
/// Payments in doubt for the resolver, from own calls and from adoption, and the changes that are not published yet.
/// Any thread may add; one reader takes.
/// </summary>
internal sealed class DoubtQueue(TimeProvider clock)
{
    // The reader runs on in the writer's thread: a hop to another thread costs more than beginning a look-up.
    private readonly Channel<Payment> _channel = Channel.CreateUnbounded<Payment>(
        new UnboundedChannelOptions { SingleReader = true, AllowSynchronousContinuations = true });

    // By the id of the processor, the bit of a ProcessorSet; index 0 counts all doubts.
    private readonly int[] _counts = new int[15];
    private readonly object _gate = new();
    private Dictionary<Payment, bool> _changes = New();

    /// <summary>Payments in doubt in this instance's memory, taken or not.</summary>
    public int Count => Volatile.Read(ref _counts[0]);

    /// <summary>Set when there is a change to publish.</summary>
    public AsyncAutoResetEvent Changed { get; } = new(clock);

    public int CountAt(Processor processor) => Volatile.Read(ref _counts[processor.Id]);

    /// <summary>Takes a payment that is in doubt; MayBeAt says where, DoubtSince since when.</summary>
    public void Add(Payment payment)
    {
        AddToCounts(payment.MayBeAt, 1);
        Begin(payment);
        _channel.Writer.TryWrite(payment);
    }

    /// <summary><see cref="Leave"/> is due for each.</summary>
    public IAsyncEnumerable<Payment> TakeAllAsync(CancellationToken cancellation) =>
        _channel.Reader.ReadAllAsync(cancellation);

    /// <summary>A taken payment is resolved, or no longer this instance's.</summary>
    /// <param name="at">Its MayBeAt when it was taken.</param>
    public void Leave(ProcessorSet at) => AddToCounts(at, -1);

    /// <summary>Publishes that a payment is in doubt.</summary>
    public void Begin(Payment payment) => Note(payment, begun: true);

    /// <summary>Publishes that a payment surely was not charged, and goes on.</summary>
    public void End(Payment payment) => Note(payment, begun: false);

    /// <summary>Drops the change: a settlement ends the doubt for readers, or another instance owns it.</summary>
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

    // A payment that may be at several processors counts at none, otherwise one silent processor would block others.
    private void AddToCounts(ProcessorSet at, int change)
    {
        Interlocked.Add(ref _counts[0], change);
        if (at.IsSingle)
            Interlocked.Add(ref _counts[BitOperations.Log2((uint)at.Bits)], change);
    }

    private void Note(Payment payment, bool begun)
    {
        lock (_gate)
            _changes[payment] = begun;
        Changed.Set();
    }

    private static Dictionary<Payment, bool> New() => new(ReferenceEqualityComparer.Instance);
}
