namespace PaymentGateway.Reconciling;

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
