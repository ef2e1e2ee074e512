namespace PaymentGateway.Tests.Summarising;

public sealed class SummariseTests : OwnDatabase
{
    private const int Settled = 5_000;

    private static readonly TimeSpan LedgerSpan = TimeSpan.FromHours(4);
    private static readonly TimeSpan Microsecond = TimeSpan.FromMicroseconds(1);

    private readonly Random _random = new(42);

    [PostgresFact]
    public async Task Every_window_has_the_sum_of_the_settlements_within_it()
    {
        var settled = await SettleAtRandomAsync();

        for (var i = 0; i < 400; i++)
        {
            var (from, to) = (RandomBound(settled), RandomBound(settled));
            if (from > to)
                (from, to) = (to, from);

            var summary = await Database.SummariseAsync(from, to);

            var expected = new ChallengeSummary(
                Expected(settled, Known.Default, from, to), Expected(settled, Known.Fallback, from, to));
            Assert.True(expected == summary, $"{from:O} to {to:O}: {summary} instead of {expected}");
        }
    }

    [PostgresTheory]
    [InlineData(0)]
    [InlineData(5)]
    [InlineData(3_600)]
    public async Task A_settlement_on_the_border_of_a_bucket_counts_once(int second)
    {
        var border = Batches.Noon.AddSeconds(second);
        await SettleAsync([new Charge(Known.Fallback, 1, border)]);

        Assert.Equal(1, await CountAsync(border, border));
        Assert.Equal(1, await CountAsync(border.AddSeconds(-5), border));
        Assert.Equal(1, await CountAsync(border, border.AddSeconds(5)));
        Assert.Equal(1, await CountAsync(border.AddSeconds(-60), border.AddSeconds(60)));
        Assert.Equal(1, await CountAsync(border.AddHours(-2), border.AddHours(2)));
        Assert.Equal(1, await CountAsync(border.AddHours(-1), border));
        Assert.Equal(0, await CountAsync(border.AddHours(-2), border - Microsecond));
        Assert.Equal(0, await CountAsync(border + Microsecond, border.AddHours(2)));
        Assert.Equal(0, await CountAsync(border.AddSeconds(-5), border - Microsecond));
        Assert.Equal(0, await CountAsync(border + Microsecond, border.AddSeconds(5)));
    }

    // Between two microseconds, as rounded inwards.
    [PostgresTheory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(5)]
    [InlineData(3_600)]
    public async Task A_window_that_ends_a_microsecond_before_its_begin_is_empty(int second)
    {
        var border = Batches.Noon.AddSeconds(second);
        await SettleAsync(
            [new Charge(Known.Default, 1, border - Microsecond), new Charge(Known.Default, 1, border)]);

        Assert.Equal(0, await CountAsync(border, border - Microsecond));
    }

    [PostgresFact]
    public async Task More_than_a_bigint_of_cents_is_summed_exactly()
    {
        const int Count = 92_300; // 92,234 payments of the largest amount overflow a bigint.
        await SettleAsync([.. Enumerable.Repeat(new Charge(Known.Default, Money.MaxCents, Batches.Noon), Count)]);

        var byTotals = await Database.SummariseAsync(null, null);
        var byRows = await Database.SummariseAsync(Batches.Noon, Batches.Noon);

        Assert.Equal(new ProcessorTotals(Count, Count * 999_999_999_999.99m), byTotals.Default);
        Assert.Equal(byTotals, byRows);
    }

    [PostgresFact]
    public async Task The_earliest_and_the_latest_times_there_are_can_be_asked_for()
    {
        await SettleAsync([new Charge(Known.Default, 1990, Batches.Noon)]);
        var last = new DateTime(9998, 12, 31, 23, 59, 59, DateTimeKind.Utc).AddMicroseconds(999_999);

        Assert.Equal(1, await CountAsync(Batches.Earliest, last));
        Assert.Equal(1, await CountAsync(Batches.Earliest + Microsecond, last));
        Assert.Equal(0, await CountAsync(Batches.Earliest, Batches.Earliest));
        Assert.Equal(0, await CountAsync(last, last));
    }

    private static ProcessorTotals Expected(List<Charge> settled, Processor processor, DateTime? from, DateTime? to)
    {
        var within = settled.FindAll(charge => charge.Processor == processor
            && (from is null || charge.RequestedAt >= from) && (to is null || charge.RequestedAt <= to));
        return new ProcessorTotals(within.Count, Money.FromCents(within.Sum(charge => charge.Cents)));
    }

    private async Task<long> CountAsync(DateTime? from, DateTime? to)
    {
        var summary = await Database.SummariseAsync(from, to);
        return summary.Default.TotalRequests + summary.Fallback.TotalRequests;
    }

    private async Task<List<Charge>> SettleAtRandomAsync()
    {
        var settled = new List<Charge>();
        for (var i = 0; i < Settled; i++)
        {
            // Two fifths on the borders of buckets and beside them, where a sum goes wrong first.
            var at = _random.Next(5) switch
            {
                0 => RandomBorder(5) + Microsecond * _random.Next(-1, 2),
                1 => RandomBorder(3_600) + Microsecond * _random.Next(-1, 2),
                _ => Within(LedgerSpan),
            };
            var processor = _random.Next(3) == 0 ? Known.Fallback : Known.Default;
            settled.Add(new Charge(processor, _random.Next(1, 1_000_000), at));
        }

        await SettleAsync(settled);
        return settled;
    }

    private DateTime? RandomBound(List<Charge> settled) => _random.Next(6) switch
    {
        0 => null,
        1 => settled[_random.Next(settled.Count)].RequestedAt,
        2 => settled[_random.Next(settled.Count)].RequestedAt + Microsecond * _random.Next(-1, 2),
        3 => RandomBorder(5) + Microsecond * _random.Next(-1, 2),
        4 => RandomBorder(3_600) + Microsecond * _random.Next(-1, 2),
        _ => Within(LedgerSpan * 1.1) - LedgerSpan * 0.05,
    };

    private DateTime Within(TimeSpan span) =>
        Batches.Noon + Microsecond * _random.NextInt64(span.Ticks / Microsecond.Ticks);

    private DateTime RandomBorder(int seconds) =>
        Batches.Noon.AddSeconds(seconds * _random.Next((int)LedgerSpan.TotalSeconds / seconds + 1));

    private async Task SettleAsync(IReadOnlyList<Charge> charges)
    {
        var epoch = await Database.OpenEpochAsync();
        for (var done = 0; done < charges.Count; done += 10_000)
        {
            var page = charges.Skip(done).Take(10_000).ToArray();
            var stored = Batches.ToStore(Batches.SortedIds(page.Length), epoch, Batches.Noon.AddSeconds(done));
            await Database.Payments.StoreAsync(stored);
            Assert.Equal(page.Length, await Database.Ledger.RecordAsync(new RecordArgs(
                stored.Ids,
                Array.ConvertAll(page, charge => charge.Processor.Id),
                Array.ConvertAll(page, charge => charge.Cents),
                Array.ConvertAll(page, charge => charge.RequestedAt),
                stored.AcceptedAts,
                Array.ConvertAll(page, _ => (short)1),
                Epoch: 1 + done % 3)));
        }
    }

    private sealed record Charge(Processor Processor, long Cents, DateTime RequestedAt);
}
