namespace ProcessorSimulator.Charging;

/// <summary>What became of a payment that was to be stored; <c>StoredLast</c> took the last slot.</summary>
internal enum InsertResult
{
    Stored,
    StoredLast,
    Duplicate,
    Full,
}

/// <summary>The processor's table in memory; any thread may call it, and no summary holds up an insert.</summary>
/// <param name="paymentsMax">Beyond it nothing is stored: memory that runs out would take the process along.</param>
internal sealed class PaymentLedger(int paymentsMax)
{
    private readonly object _gate = new();
    // Where each payment is, counted over all pages: the index outgrows everything else.
    private Dictionary<Guid, int> _byId = NewIndex();
    private List<PaymentPage> _pages = [];

    public bool IsFull
    {
        get
        {
            lock (_gate)
                return _byId.Count >= paymentsMax;
        }
    }

    public InsertResult Insert(in StoredPayment payment)
    {
        lock (_gate)
        {
            if (_byId.Count >= paymentsMax)
                return _byId.ContainsKey(payment.CorrelationId) ? InsertResult.Duplicate : InsertResult.Full;
            if (!_byId.TryAdd(payment.CorrelationId, _byId.Count))
                return InsertResult.Duplicate;
            if (_pages.Count == 0 || _pages[^1].IsFull)
                _pages.Add(new PaymentPage());
            _pages[^1].Add(payment);
            return _byId.Count < paymentsMax ? InsertResult.Stored : InsertResult.StoredLast;
        }
    }

    public bool TryFind(Guid correlationId, out StoredPayment payment)
    {
        lock (_gate)
        {
            var found = _byId.TryGetValue(correlationId, out var position);
            payment = found ? _pages[position / PaymentPage.Capacity][position % PaymentPage.Capacity] : default;
            return found;
        }
    }

    public void Purge()
    {
        lock (_gate)
        {
            _byId = NewIndex();
            _pages = [];
        }
    }

    /// <summary>All payments that were stored before the call; what is inserted later is not seen.</summary>
    public PageSlice[] Snapshot()
    {
        lock (_gate)
        {
            var slices = new PageSlice[_pages.Count];
            for (var i = 0; i < slices.Length; i++)
                slices[i] = _pages[i].Slice();
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

    // A resize of the index holds up every insert, so a run of the final fits without one.
    private static Dictionary<Guid, int> NewIndex() => new(100_000);
}
