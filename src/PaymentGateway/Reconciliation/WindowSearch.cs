namespace PaymentGateway.Reconciliation;

/// <summary>
/// Finds the milliseconds in which ledger and processor differ, by their sums of windows alone: a window that differs
/// is halved. Long windows are halved though they agree, because two differences may cancel each other out in their
/// sums.
/// </summary>
/// <param name="processor">Whose payments are compared.</param>
/// <param name="compare">Asks both sides for a window.</param>
internal sealed class WindowSearch(Processor processor, Func<TimeWindow, Task<Comparison>> compare)
{
    // So the questions of a search that finds nothing are few however long the window is: about twice as many.
    private const int PartsMax = 1_024;

    private static readonly TimeSpan PartMin = TimeSpan.FromSeconds(1);

    /// <summary>Differences within so long a part of a window may cancel each other out unseen.</summary>
    public static TimeSpan PartOf(TimeWindow all) =>
        all.Length / PartsMax is var part && part > PartMin ? part : PartMin;

    /// <summary>Searches a window from its beginning.</summary>
    /// <param name="all">The whole window.</param>
    /// <param name="compared">What was said of it.</param>
    /// <param name="most">How many are found at most.</param>
    /// <returns>
    /// Milliseconds; or a longer window whose halves agree, because one side's sums are not those of their parts.
    /// </returns>
    public async Task<List<DifferingWindow>> FindAsync(TimeWindow all, Comparison compared, int most)
    {
        var part = PartOf(all);
        var found = new List<DifferingWindow>();
        var open = new Stack<(TimeWindow Window, Comparison Compared)>();
        open.Push((all, compared));
        while (found.Count < most && open.TryPop(out var next))
        {
            var (window, whole) = next;
            if (whole.Agrees && (whole.IsEmpty || window.Length <= part || window.IsSmallest))
                continue;

            if (window.IsSmallest)
            {
                found.Add(new DifferingWindow(processor, window, whole));
                continue;
            }

            var (earlier, later) = window.Halves();
            var first = await compare(earlier);
            var second = await compare(later);
            // Something may have changed between the questions: then the whole agrees by now.
            if (!whole.Agrees && first.Agrees && second.Agrees && await compare(window) is { Agrees: false } again)
                found.Add(new DifferingWindow(processor, window, again));
            open.Push((later, second));
            open.Push((earlier, first));
        }

        return found;
    }
}

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

/// <summary>How many payments, and their exact sum.</summary>
internal readonly record struct Sums(long Payments, [property: JsonIgnore] decimal Cents)
{
    public decimal Amount => Money.FromCents(Cents);

    [JsonIgnore]
    public bool AreZero => Payments == 0 && Cents == 0;

    public static Sums operator +(Sums one, Sums other) =>
        new(one.Payments + other.Payments, one.Cents + other.Cents);

    public static Sums operator -(Sums one, Sums other) =>
        new(one.Payments - other.Payments, one.Cents - other.Cents);

    /// <summary>Of one payment.</summary>
    public static Sums One(decimal cents) => new(1, cents);
}

/// <summary>A window at one processor: what the ledger has of it, and what the processor holds.</summary>
internal readonly record struct Comparison(Sums Ledger, [property: JsonPropertyName("processor")] Sums Held)
{
    [JsonIgnore]
    public bool Agrees => Ledger == Held;

    [JsonIgnore]
    public bool IsEmpty => Ledger.AreZero && Held.AreZero;
}

/// <summary>A window that differs and cannot be halved any further.</summary>
internal sealed record DifferingWindow(Processor Processor, TimeWindow Window, Comparison Compared);
