namespace PaymentGateway.Operator.Reconciliation;

/// <summary>
/// Finds the milliseconds in which ledger and processor differ, by their sums of windows alone: a window that differs
/// is halved. Long windows are halved though they agree, because two differences may cancel each other out in their
/// sums.
/// </summary>
internal static class WindowSearch
{
    // A window that agrees costs at most about twice this number of questions, however long it is.
    private const int PartsMax = 1_024;

    private static readonly TimeSpan PartMin = TimeSpan.FromSeconds(1);

    /// <summary>Searches a window from its beginning.</summary>
    /// <param name="compared">The comparison of the whole window.</param>
    /// <param name="most">How many are found at most.</param>
    /// <param name="compare">Asks both sides for a window.</param>
    /// <returns>
    /// Milliseconds; or a longer window whose halves agree, because one side's sums are not those of their parts.
    /// </returns>
    public static async Task<List<DifferingWindow>> FindAsync(
        Processor processor, TimeWindow all, Comparison compared, int most,
        Func<TimeWindow, Task<Comparison>> compare)
    {
        // Differences within a part may cancel each other out unseen.
        var part = all.Length / PartsMax;
        if (part < PartMin)
            part = PartMin;
        var found = new List<DifferingWindow>();
        var open = new Stack<(TimeWindow Window, Comparison Compared)>();
        open.Push((all, compared));
        while (found.Count < most && open.TryPop(out var next))
        {
            var (window, whole) = next;
            if (whole.Agrees && (whole.Held == default || window.Length <= part))
                continue;

            if (window.IsSmallest)
            {
                found.Add(new DifferingWindow(processor, window, whole));
                continue;
            }

            var (earlier, later) = window.Halves();
            var first = await compare(earlier);
            var second = await compare(later);
            // Ask for the whole again: it agrees by now if something changed between the questions.
            if (!whole.Agrees && first.Agrees && second.Agrees && await compare(window) is { Agrees: false } again)
                found.Add(new DifferingWindow(processor, window, again));
            open.Push((later, second));
            open.Push((earlier, first));
        }

        return found;
    }
}

/// <summary>A window of requestedAt in whole milliseconds, UTC; Before is exclusive.</summary>
internal readonly record struct TimeWindow(DateTime From, DateTime Before)
{
    private static readonly TimeSpan Smallest = TimeSpan.FromMilliseconds(1);

    public TimeSpan Length => Before - From;

    public bool IsSmallest => Length <= Smallest;

    /// <summary>The last microsecond in it, because ledger and processors take inclusive bounds.</summary>
    public DateTime Last => Before.AddTicks(-TimeSpan.TicksPerMicrosecond);

    /// <summary>The smallest window with both instants in it.</summary>
    public static TimeWindow Outward(DateTime from, DateTime to) =>
        new(Floor(from), Floor(to) + Smallest);

    /// <summary>Rounds down to a whole millisecond.</summary>
    public static DateTime Floor(DateTime instant) => instant.AddTicks(-(instant.Ticks % Smallest.Ticks));

    /// <summary>The halves, without a gap or an overlap.</summary>
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

    public static Sums operator +(Sums one, Sums other) =>
        new(one.Payments + other.Payments, one.Cents + other.Cents);

    public static Sums operator -(Sums one, Sums other) =>
        new(one.Payments - other.Payments, one.Cents - other.Cents);
}

/// <summary>A window at one processor: the sums of the ledger, and those that the processor holds.</summary>
/// <remarks>A class, because a dictionary of structs would have code of its own in the binary.</remarks>
internal sealed record Comparison(Sums Ledger, [property: JsonPropertyName("processor")] Sums Held)
{
    [JsonIgnore]
    public bool Agrees => Ledger == Held;
}

/// <summary>A window that differs and cannot be halved any further.</summary>
internal sealed record DifferingWindow(Processor Processor, TimeWindow Window, Comparison Compared);
