namespace ProcessorSimulator.Charging;

/// <summary>A run of payments in the order of their inserts; the caller holds the ledger's lock.</summary>
internal sealed class PaymentPage
{
    // As large as an array can be without landing in the large object heap.
    public const int Capacity = 2_000;

    private readonly StoredPayment[] payments = new StoredPayment[Capacity];
    private int count;
    private decimal totalAmount = 0.00m;
    private DateTime first = DateTime.MaxValue;
    private DateTime last = DateTime.MinValue;

    public bool IsFull => count == Capacity;

    public StoredPayment this[int index] => payments[index];

    public void Add(in StoredPayment payment)
    {
        payments[count++] = payment;
        totalAmount += payment.Amount;
        first = payment.RequestedAt < first ? payment.RequestedAt : first;
        last = payment.RequestedAt > last ? payment.RequestedAt : last;
    }

    public PageSlice Slice() => new(payments, count, totalAmount, first, last);
}
