using System.Numerics;
using System.Threading.Channels;

namespace PaymentGateway.Leasing;

/// <summary>The payments of an epoch in doubt that wait for the resolver. Any thread may add; one reader
/// takes.</summary>
internal sealed class DoubtQueue(DoubtNotes notes)
{
    // The reader continues on the writer's thread, because a hop costs more than starting a look-up.
    private readonly Channel<Payment> _channel = Channel.CreateUnbounded<Payment>(
        new UnboundedChannelOptions { SingleReader = true, AllowSynchronousContinuations = true });

    // By processor id; index 0 counts all doubts.
    private readonly int[] _counts = new int[15];

    /// <summary>Payments in doubt in memory, taken or not.</summary>
    public int Count => Volatile.Read(ref _counts[0]);

    public int CountAt(Processor processor) => Volatile.Read(ref _counts[processor.Id]);

    /// <summary>Adds a payment in doubt, with MayBeAt and DoubtSince set.</summary>
    public void Add(Payment payment)
    {
        AddToCounts(payment.MayBeAt, 1);
        notes.Begin(payment);
        _channel.Writer.TryWrite(payment);
    }

    /// <summary>The caller calls <see cref="Leave"/> for each in the end.</summary>
    public IAsyncEnumerable<Payment> TakeAllAsync(CancellationToken cancellation) =>
        _channel.Reader.ReadAllAsync(cancellation);

    /// <summary>Removes a taken payment from the counts: it is resolved, or no longer owned.</summary>
    /// <param name="at">Its MayBeAt when it was taken.</param>
    public void Leave(ProcessorSet at) => AddToCounts(at, -1);

    // A payment that may be at several processors counts at none, otherwise one silent processor would block others.
    private void AddToCounts(ProcessorSet at, int change)
    {
        Interlocked.Add(ref _counts[0], change);
        if (at.IsSingle)
            Interlocked.Add(ref _counts[BitOperations.Log2((uint)at.Bits)], change);
    }
}

/// <summary>
/// Changes of payments in doubt that the ledger does not have yet, and operators' words on processors. They outlive an
/// epoch, because they are true for any owner. Any thread may note; one reader takes.
/// </summary>
internal sealed class DoubtNotes(TimeProvider clock)
{
    // By processor id: doubts that began before this moment have an operator's word that they were not charged there.
    private readonly long[] _notChargedBefore = new long[15];
    private readonly object _gate = new();
    private Dictionary<Payment, bool> _changes = New();
    private List<Payment> _held = [];

    /// <summary>Set when there is a change to publish.</summary>
    public AsyncAutoResetEvent Changed { get; } = new(clock);

    public void Begin(Payment payment) => Note(payment, begun: true);

    /// <summary>Publishes that the doubt ended without a charge.</summary>
    public void End(Payment payment) => Note(payment, begun: false);

    /// <summary>Drops an unpublished change, because the payment is settled.</summary>
    public void Forget(Payment payment)
    {
        lock (_gate)
            _changes.Remove(payment);
    }

    /// <summary>Takes all changes; true when the doubt began, false when it ended.</summary>
    public Dictionary<Payment, bool> TakeChanges()
    {
        lock (_gate)
        {
            var taken = _changes;
            _changes = New();
            return taken;
        }
    }

    /// <summary>A processor has said by a 422 that it has the payment, and the ledger does not know it yet.</summary>
    public void Hold(Payment payment)
    {
        lock (_gate)
            _held.Add(payment);
        Changed.Set();
    }

    /// <summary>Takes all payments of which the ledger does not know yet that they are held.</summary>
    public List<Payment> TakeHeld()
    {
        lock (_gate)
            return Interlocked.Exchange(ref _held, []);
    }

    /// <summary>An operator has said that a processor has not charged what was in doubt there.</summary>
    /// <param name="processor">Its id.</param>
    /// <param name="before">A monotonic timestamp from before the operator said it.</param>
    public void EndAt(short processor, long before) => Volatile.Write(ref _notChargedBefore[processor], before);

    /// <summary>The processors that, by an operator's word, have not charged a payment that they may have.</summary>
    public ProcessorSet EndedAt(Payment payment)
    {
        var ended = 0;
        for (short id = 1; id < _notChargedBefore.Length; id++)
            if (payment.DoubtSince < Volatile.Read(ref _notChargedBefore[id]))
                ended |= payment.MayBeAt.Bits & (1 << id);
        return new ProcessorSet((short)ended);
    }

    private void Note(Payment payment, bool begun)
    {
        lock (_gate)
            _changes[payment] = begun;
        Changed.Set();
    }

    private static Dictionary<Payment, bool> New() => new(ReferenceEqualityComparer.Instance);
}
