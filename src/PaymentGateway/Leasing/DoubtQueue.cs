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
