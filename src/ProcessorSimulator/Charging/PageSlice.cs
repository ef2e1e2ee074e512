namespace ProcessorSimulator.Charging;

/// <summary>What a page held at one moment; read without the lock, since a page only grows behind it.</summary>
internal readonly record struct PageSlice(
    StoredPayment[] Page, int Count, decimal TotalAmount, DateTime First, DateTime Last)
{
    public ReadOnlyMemory<StoredPayment> Payments => Page.AsMemory(0, Count);

    public (int Requests, decimal Amount) All => (Count, TotalAmount);

    public (int Requests, decimal Amount) Between(DateTime from, DateTime to)
    {
        if (Last < from || First > to)
            return (0, 0.00m);
        return First >= from && Last <= to ? All : Scan(from, to);
    }

    private (int Requests, decimal Amount) Scan(DateTime from, DateTime to)
    {
        var requests = 0;
        var amount = 0.00m;
        foreach (ref readonly var payment in Payments.Span)
        {
            if (payment.RequestedAt < from || payment.RequestedAt > to)
                continue;
            requests++;
            amount += payment.Amount;
        }

        return (requests, amount);
    }
}
