namespace PaymentGateway.Showing;

/// <summary>Percentiles out of the buckets of a histogram, as Prometheus reckons them.</summary>
internal static class Percentile
{
    /// <summary>The value below which a share of the measurements lies.</summary>
    /// <param name="share">From 0 to 1.</param>
    /// <param name="bounds">The upper bounds of the buckets; one more counts what is above them.</param>
    /// <param name="counts">How many are in each.</param>
    /// <returns>
    /// Between the bounds of its bucket, in proportion; the last bound where it is above; null when nothing was
    /// measured.
    /// </returns>
    public static double? Of(double share, double[] bounds, long[] counts)
    {
        var all = counts.Sum();
        if (all <= 0)
            return null;

        var (rank, below) = (share * all, 0L);
        for (var at = 0; at < bounds.Length; at++)
        {
            if (counts[at] > 0 && below + counts[at] >= rank)
            {
                var lower = at == 0 ? 0 : bounds[at - 1];
                return lower + (bounds[at] - lower) * ((rank - below) / counts[at]);
            }

            below += counts[at];
        }

        return bounds[^1];
    }

    /// <summary>Adds the counts of several histograms of the same buckets.</summary>
    public static long[] Merge(IEnumerable<long[]> histograms, int buckets)
    {
        var sum = new long[buckets];
        foreach (var counts in histograms)
            for (var at = 0; at < Math.Min(buckets, counts.Length); at++)
                sum[at] += counts[at];
        return sum;
    }
}
