using System.Threading.Channels;

namespace PaymentGateway.Queueing;

/// <summary>
/// Payments in doubt for the resolver, from this instance's own calls and from what it adopts. Any thread may add; one
/// reader takes.
/// </summary>
internal sealed class DoubtQueue
{
    // The reader runs on in the writer's thread: a hop to another thread costs more than beginning a look-up.
    private readonly Channel<Payment> _channel = Channel.CreateUnbounded<Payment>(
        new UnboundedChannelOptions { SingleReader = true, AllowSynchronousContinuations = true });

    private readonly int[] _countAt = new int[(int)Processor.Fallback + 1];

    private int _count;

    /// <summary>How many are in doubt in this instance's memory, whether taken or not.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>How many of them are in doubt at this processor.</summary>
    public int CountAt(Processor processor) => Volatile.Read(ref _countAt[(int)processor]);

    /// <summary>Takes a payment that is in doubt; ChargedAt says where, DoubtSince since when.</summary>
    public void Add(Payment payment)
    {
        Interlocked.Increment(ref _count);
        if (payment.ChargedAt is { } at)
            Interlocked.Increment(ref _countAt[(int)at]);
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
}
