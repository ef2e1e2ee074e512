using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Dashboard;

/// <summary>Makes one view of the instances' readings and the database's rows. Pure.</summary>
/// <param name="Identity">This instance's, as in its lease.</param>
/// <param name="Bounds">The durations' buckets, seconds.</param>
internal sealed record OverviewBuilder(GatewayOptions Options, string Identity, double[] Bounds)
{
    /// <param name="shared">Null when PostgreSQL did not answer.</param>
    public Overview Make(DateTime at, int epoch, InstanceReading own, bool isReset, SharedFacts? shared)
    {
        var all = Instances(epoch, own, shared?.Readings ?? []);
        var speaking = all.Where(one => !one.IsSilent).Select(one => one.Reading).ToList();
        return new Overview(
            at, Options.Instance.Name, shared is not null, isReset, Options.Operators.Tokens.Count > 0,
            speaking.Sum(one => one.AcceptedPerSecond), speaking.Sum(one => one.SettledPerSecond),
            DurationsOf(speaking.Select(one => one.Accepts)),
            new BacklogView(
                speaking.Sum(one => one.Unsettled), speaking.Exists(one => one.HasOverflow),
                speaking.Max(one => one.OldestSeconds)),
            speaking.Sum(one => one.InDoubt),
            shared is null ? null : ParkedOf(shared.Parked),
            Options.Processors.All.Select(one => ProcessorOf(one.Processor, speaking, shared)).ToArray(),
            all.ToArray(),
            (shared?.Webhooks ?? []).Where(row => row.FailingSeconds is not null)
                .Select(row => new WebhookView(row.Name, row.FailingSeconds!.Value, row.Failure)).ToArray(),
            speaking.SelectMany(static one => one.Payers ?? []).GroupBy(static payer => payer.Name)
                .Select(static same => new PayerReading(
                    same.Key, same.Sum(one => one.Accepted), same.Sum(one => one.Refused)))
                .OrderBy(static payer => payer.Name, StringComparer.Ordinal).ToArray());
    }

    // After a restart or a lost lease an instance has a new epoch: the older ones of the same identity have ended.
    private List<InstanceView> Instances(int epoch, InstanceReading own, List<ReadingRow> rows) =>
        rows.Where(row => row.Instance != Identity)
            .GroupBy(row => row.Instance).Select(same => same.MaxBy(row => row.Epoch)!)
            .Select(row => (Row: row, Reading: InstanceReading.Parse(row.Reading)))
            .Where(one => one.Reading is not null)
            .Select(one => new InstanceView(
                one.Row.Epoch, one.Row.AgeSeconds, one.Row.AgeSeconds > Options.Leasing.LeaseDuration.TotalSeconds,
                one.Reading!))
            .Append(new InstanceView(epoch, 0, IsSilent: false, own))
            .OrderBy(one => one.Reading.Name, StringComparer.Ordinal).ThenBy(one => one.Epoch).ToList();

    private ProcessorView ProcessorOf(Processor processor, List<InstanceReading> speaking, SharedFacts? shared)
    {
        LaneReading? LaneOf(InstanceReading one) => Array.Find(one.Lanes, lane => lane.Name == processor.Name);
        var lanes = speaking.Select(LaneOf).OfType<LaneReading>().ToList();
        // Instances with recent calls decide, because one without payments does not notice that a processor is back.
        var calling = lanes.FindAll(lane => lane.Calls.Sum() > 0);
        var telling = calling.Count > 0 ? calling : lanes;
        var report = shared?.Reports.Find(row => row.Processor == processor.Name && row.AgeSeconds < 1e8);
        return new ProcessorView(
            processor.Name,
            // The worst state, because the other instances will find it too.
            LaneReading.Circuits.LastOrDefault(state => telling.Exists(lane => lane.Circuit == state), "closed"),
            LaneReading.Availabilities.LastOrDefault(
                state => telling.Exists(lane => lane.Availability == state), "usable"),
            telling.Max(lane => lane.ExpectedSeconds) * 1_000, lanes.Sum(lane => lane.InFlight),
            speaking.Sum(one => (LaneOf(one)?.Calls.Sum() ?? 0) / one.WindowSeconds),
            DurationsOf(lanes.Select(lane => lane.Calls)),
            report, report?.AgeSeconds >= Options.Routing.ReportOverdueAfter.TotalSeconds,
            shared is null ? null : SettledOf(processor, shared.Totals), lanes.Exists(lane => lane.Unreadable));
    }

    private static SettledView SettledOf(Processor processor, List<TotalsRow> totals)
    {
        var row = totals.Find(one => one.Processor == processor.Name);
        var amount = Money.FromCents(row?.AmountCents ?? 0);
        return new SettledView(
            row?.Requests ?? 0, Text(amount), Text(amount * processor.Fee), processor.Fee);
    }

    private static string Text(decimal amount) => amount.ToString("0.00", CultureInfo.InvariantCulture);

    private static ParkedView ParkedOf(List<ParkedCountRow> rows)
    {
        var payments = rows.Sum(row => row.Payments);
        return new ParkedView(
            payments, payments >= ParkedCount.CountMax,
            rows.OrderByDescending(row => row.Payments).ThenBy(row => row.Reason, StringComparer.Ordinal).ToArray());
    }

    private Durations DurationsOf(IEnumerable<long[]> histograms)
    {
        var counts = Percentile.Merge(histograms, Bounds.Length + 1);
        return new Durations(
            Percentile.Of(0.5, Bounds, counts) * 1_000, Percentile.Of(0.99, Bounds, counts) * 1_000);
    }
}

/// <summary>Computes percentiles from a histogram's buckets, as Prometheus does.</summary>
internal static class Percentile
{
    /// <summary>The value below which a share of the measurements lies.</summary>
    /// <param name="share">From 0 to 1.</param>
    /// <param name="bounds">The upper bounds of the buckets; one more counts what is above them.</param>
    /// <param name="counts">The count of each bucket.</param>
    /// <returns>Interpolated in its bucket; the last bound where it is above; null when nothing was measured.</returns>
    public static double? Of(double share, double[] bounds, long[] counts)
    {
        var rank = share * counts.Sum();
        if (rank <= 0)
            return null;

        double lower = 0;
        for (var at = 0; at < bounds.Length; at++)
        {
            if (counts[at] > 0 && counts[at] >= rank)
                return lower + (bounds[at] - lower) * rank / counts[at];

            rank -= counts[at];
            lower = bounds[at];
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
