using System.Threading.Channels;

namespace PaymentGateway.Leasing;

/// <summary>
/// The bounded queue from acceptance to settlement, oldest first. Any thread may add; one reader takes.
/// </summary>
internal sealed class PaymentQueue(IntakeOptions options)
{
    // Small, to keep payments nearly in order; a healthy processor refuses fewer.
    private const int RefusedBehindMax = 100;

    // The reader continues on the writer's thread, because a hop costs more than starting a charge.
    private readonly Channel<Payment?> _channel = Channel.CreateBounded<Payment?>(
        new BoundedChannelOptions(options.QueueCapacity) { SingleReader = true, AllowSynchronousContinuations = true });

    private readonly PriorityQueue<Payment, (long Turn, DateTime AcceptedAt)> _returned = new();
    private int _returnedCount;
    private long _turn;   // How many were taken out of the channel.

    public int Count => _channel.Reader.Count + Volatile.Read(ref _returnedCount);

    public int RemainingCapacity => options.QueueCapacity - Count;

    /// <returns>False when the queue is full or latched.</returns>
    public bool TryAdd(Payment payment) => _channel.Writer.TryWrite(payment);

    /// <summary>Adds all payments: at the end, or at the head beyond the capacity and after the latch.</summary>
    public void AddAll(List<Payment> payments)
    {
        foreach (var payment in payments)
            if (!TryAdd(payment))
                Return(payment);
    }

    /// <summary>
    /// Puts an old payment back at the head. It always fits, because calls in flight and adopted pages bound the
    /// number.
    /// </summary>
    public void Return(Payment payment) => Return(payment, turn: 0);

    /// <summary>
    /// Puts a refused payment back behind some of those that are here now. At the head, a payment that is refused each
    /// time would take every probe, and the circuit would stay open for all others.
    /// </summary>
    public void ReturnRefused(Payment payment) =>
        Return(payment, Volatile.Read(ref _turn) + Math.Min(_channel.Reader.Count, RefusedBehindMax));

    private void Return(Payment payment, long turn)
    {
        lock (_returned)
        {
            _returned.Enqueue(payment, (turn, payment.AcceptedAt));
            _returnedCount = _returned.Count;
        }

        // Wakes a waiting reader. A channel with payments has no waiting reader, and wake-ups would fill it.
        if (_channel.Reader.Count == 0)
            _channel.Writer.TryWrite(null);
    }

    /// <summary>Takes the oldest payment; a refused one waits for its turn.</summary>
    public bool TryTake(out Payment payment)
    {
        if (_returnedCount > 0 && TryTakeReturned(_turn, out payment))
            return true;

        while (_channel.Reader.TryRead(out var next))
        {
            _turn++;
            if (next is not null)
            {
                payment = next;
                return true;
            }

            if (TryTakeReturned(_turn, out payment))
                return true;
        }

        return TryTakeReturned(long.MaxValue, out payment);
    }

    /// <returns>Null when the queue is latched and empty.</returns>
    public async ValueTask<Payment?> TakeAsync()
    {
        try
        {
            // No token, because a bounded channel completes only a wait without one on the writer's thread.
            while (true)
                if (TryTake(out var payment) || (payment = await _channel.Reader.ReadAsync()) is not null)
                    return payment;
        }
        catch (ChannelClosedException)
        {
            return null;
        }
    }

    /// <summary>Refuses new payments; those inside can still be taken.</summary>
    public void Latch() => _channel.Writer.TryComplete();

    private bool TryTakeReturned(long turn, out Payment payment)
    {
        lock (_returned)
        {
            var isDue = _returned.TryPeek(out _, out var order) && order.Turn <= turn;
            payment = isDue ? _returned.Dequeue() : null!;
            _returnedCount = _returned.Count;
            return isDue;
        }
    }
}
