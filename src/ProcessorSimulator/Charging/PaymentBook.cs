namespace ProcessorSimulator.Charging;

/// <summary>The processor's table in memory; any thread may call it, and no summary holds up an insert.</summary>
internal sealed class PaymentBook
{
    private readonly object gate = new();
    private Dictionary<Guid, StoredPayment> byId = NewIndex();
    private List<PaymentPage> pages = [];

    /// <summary>False when the correlationId is already stored.</summary>
    public bool TryInsert(in StoredPayment payment)
    {
        lock (gate)
        {
            if (!byId.TryAdd(payment.CorrelationId, payment))
                return false;
            if (pages.Count == 0 || pages[^1].IsFull)
                pages.Add(new PaymentPage());
            pages[^1].Add(payment);
            return true;
        }
    }

    public bool TryFind(Guid correlationId, out StoredPayment payment)
    {
        lock (gate)
            return byId.TryGetValue(correlationId, out payment);
    }

    public void Purge()
    {
        lock (gate)
        {
            byId = NewIndex();
            pages = [];
        }
    }

    /// <summary>All payments that were stored before the call; what is inserted later is not seen.</summary>
    public PageSlice[] Snapshot()
    {
        lock (gate)
        {
            var slices = new PageSlice[pages.Count];
            for (var i = 0; i < slices.Length; i++)
                slices[i] = pages[i].Slice();
            return slices;
        }
    }

    /// <summary>Both bounds are inclusive; without both of them every payment counts, as the contract says.</summary>
    public (long TotalRequests, decimal TotalAmount) Summarise(DateTime? from, DateTime? to)
    {
        var totalRequests = 0L;
        var totalAmount = 0.00m;
        foreach (var slice in Snapshot())
        {
            var (requests, amount) = from is null || to is null ? slice.All : slice.Between(from.Value, to.Value);
            totalRequests += requests;
            totalAmount += amount;
        }

        return (totalRequests, totalAmount);
    }

    // A resize of the index holds up every insert, so a run of the official load fits without one.
    private static Dictionary<Guid, StoredPayment> NewIndex() => new(20_000);
}
