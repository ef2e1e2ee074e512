namespace PaymentGateway.Tests.Storage;

public sealed class RecordingOnceTests : OwnDatabase
{
    private SettlementLedger Ledger => Database.Ledger;

    [PostgresFact]
    public async Task A_settlement_that_comes_again_changes_nothing()
    {
        var batch = await StoreAsync(10);

        Assert.Equal(10, await Ledger.RecordAsync(Batches.ToRecord(batch)));
        Assert.Equal(10, await Ledger.RecordAsync(Batches.ToRecord(batch)));
        var other = Batches.ToRecord(batch, Known.Fallback, Batches.Noon.AddHours(1));
        Assert.Equal(10, await Ledger.RecordAsync(other));

        await AssertLedgerAsync(new ProcessorTotals(10, 199.00m), new ProcessorTotals(0, 0.00m));
    }

    [PostgresFact]
    public async Task Random_batches_with_duplicates_leave_totals_that_are_the_sum_of_the_settlements()
    {
        var random = new Random(7);
        var stored = await StoreAsync(500);

        var recorders = Enumerable.Range(1, 3).Select(instance => Task.Run(async () =>
        {
            for (var i = 0; i < 60; i++)
                await Ledger.RecordAsync(RandomPart(stored, random, instance));
        }));
        await Task.WhenAll(recorders);

        Assert.True(await Database.ScalarAsync<long>("SELECT count(*) FROM settlement_totals") > 10);
        await AssertTotalsAreTheSumOfTheSettlementsAsync();
    }

    [PostgresFact]
    public async Task An_outcome_from_before_a_purge_settles_nothing_even_when_its_id_is_posted_again()
    {
        var old = await StoreAsync(3);
        await Database.PurgeAsync();
        Assert.Equal(0, await Ledger.RecordAsync(Batches.ToRecord(old)));
        var anew = Batches.ToStore(old.Ids, old.OwnerEpoch, Batches.Noon.AddSeconds(1));
        await Database.Payments.StoreAsync(anew);

        Assert.Equal(0, await Ledger.RecordAsync(Batches.ToRecord(old)));
        Assert.Equal(3, await Ledger.RecordAsync(Batches.ToRecord(anew)));

        await AssertLedgerAsync(new ProcessorTotals(3, 59.70m), new ProcessorTotals(0, 0.00m));
    }

    private static RecordArgs RandomPart(StoreArgs stored, Random random, int instance)
    {
        int[] indexes;
        lock (random)
            indexes = [.. Enumerable.Range(0, 50).Select(_ => random.Next(stored.Ids.Length)).Distinct().Order()];
        return new RecordArgs(
            Array.ConvertAll(indexes, at => stored.Ids[at]),
            Array.ConvertAll(indexes, at => (short)(1 + (at + instance) % 2)),
            Array.ConvertAll(indexes, at => stored.AmountsCents[at]),
            Array.ConvertAll(indexes, at => Batches.Noon.AddMilliseconds(at * 200)),
            Array.ConvertAll(indexes, at => stored.AcceptedAts[at]),
            Array.ConvertAll(indexes, _ => (short)1),
            instance);
    }

    private async Task<StoreArgs> StoreAsync(int count) =>
        await Database.StoreAsync(await Database.OpenEpochAsync(), count);

    private async Task AssertLedgerAsync(ProcessorTotals byDefault, ProcessorTotals byFallback)
    {
        Assert.Equal(new ChallengeSummary(byDefault, byFallback), await Database.SummariseAsync(null, null));
        await AssertTotalsAreTheSumOfTheSettlementsAsync();
    }

    private async Task AssertTotalsAreTheSumOfTheSettlementsAsync()
    {
        const string Differences = """
            WITH raw AS (
                SELECT width, processor, date_bin(width * interval '1 second', requested_at, 'epoch') AS bucket,
                       count(*) AS requests, sum(amount_cents) AS cents
                FROM settlements, (VALUES (5), (3600)) AS widths (width) GROUP BY 1, 2, 3
            ), summed AS (
                SELECT width_seconds AS width, processor, bucket, sum(requests) AS requests,
                       sum(amount_cents) AS cents
                FROM settlement_totals GROUP BY 1, 2, 3
            )
            SELECT count(*) FROM raw FULL JOIN summed USING (width, processor, bucket)
            WHERE raw.requests IS DISTINCT FROM summed.requests OR raw.cents IS DISTINCT FROM summed.cents
            """;
        Assert.Equal(0, await Database.ScalarAsync<long>(Differences));
    }
}
