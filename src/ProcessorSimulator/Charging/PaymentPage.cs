namespace ProcessorSimulator.Charging;

/// <summary>A run of payments in the order of their inserts; the caller holds the ledger's lock.</summary>
internal sealed class PaymentPage
{
    // As large as an array can be without landing in the large object heap.
    public const int Capacity = 2_000;

    private readonly StoredPayment[] _payments = new StoredPayment[Capacity];
    private int _count;
    private decimal _totalAmount = 0.00m;
    private DateTime _first = DateTime.MaxValue;
    private DateTime _last = DateTime.MinValue;

    public bool IsFull => _count == Capacity;

    public StoredPayment this[int index] => _payments[index];

    public void Add(in StoredPayment payment)
    {
        _payments[_count++] = payment;
        _totalAmount += payment.Amount;
        _first = payment.RequestedAt < _first ? payment.RequestedAt : _first;
        _last = payment.RequestedAt > _last ? payment.RequestedAt : _last;
    }

    public PageSlice Slice() => new(_payments, _count, _totalAmount, _first, _last);
}
