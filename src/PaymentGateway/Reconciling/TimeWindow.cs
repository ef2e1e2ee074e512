namespace PaymentGateway.Reconciling;

/// <summary>A window of requestedAt in whole milliseconds, UTC, without its end.</summary>
internal readonly record struct TimeWindow(DateTime From, DateTime Before)
{
    private static readonly TimeSpan Smallest = TimeSpan.FromMilliseconds(1);

    public TimeSpan Length => Before - From;

    public bool IsSmallest => Length <= Smallest;

    /// <summary>The last instant in it: ledger and processors count in microseconds and take both bounds in.</summary>
    public DateTime Last => Before.AddTicks(-TimeSpan.TicksPerMicrosecond);

    /// <summary>The smallest window that an instant is in.</summary>
    public static TimeWindow Around(DateTime instant) => Outward(instant, instant);

    /// <summary>The smallest window with both instants in it.</summary>
    public static TimeWindow Outward(DateTime from, DateTime to) =>
        new(Floor(from), Floor(to) + Smallest);

    /// <summary>The last window that ends before an instant, or at it, begins here.</summary>
    public static DateTime Floor(DateTime instant) => instant.AddTicks(-(instant.Ticks % Smallest.Ticks));

    /// <summary>Both halves; no instant is in neither or in both.</summary>
    public (TimeWindow Earlier, TimeWindow Later) Halves()
    {
        var middle = Floor(From + Length / 2);
        return (this with { Before = middle }, this with { From = middle });
    }
}

/// <summary>How many payments, and their sum in cents.</summary>
internal readonly record struct Sums(long Payments, decimal Cents)
{
    public bool AreZero => Payments == 0 && Cents == 0;

    public static Sums operator +(Sums one, Sums other) =>
        new(one.Payments + other.Payments, one.Cents + other.Cents);

    public static Sums operator -(Sums one, Sums other) =>
        new(one.Payments - other.Payments, one.Cents - other.Cents);

    /// <summary>Of one payment.</summary>
    public static Sums One(decimal cents) => new(1, cents);
}

/// <summary>A window at one processor: what the ledger has of it, and what the processor holds.</summary>
internal readonly record struct Comparison(Sums Ledger, Sums Held)
{
    public bool Agrees => Ledger == Held;

    public bool IsEmpty => Ledger.AreZero && Held.AreZero;
}

/// <summary>A window that differs and cannot be halved any further.</summary>
internal sealed record DifferingWindow(Processor Processor, TimeWindow Window, Comparison Compared);
