namespace PaymentGateway.Tests.Storage;

public sealed class ParkedStoreTests : OwnDatabase
{
    private ParkedStore Parked => new(Database.Shared, TestSettings.Read());

    [PostgresFact]
    public async Task A_parked_payment_keeps_its_reason_and_time_and_is_adopted_by_nobody()
    {
        var (epoch, batch) = await StoreAsync();

        await Parked.ParkAsync(new ParkArgs(batch.Ids[0], batch.AcceptedAts[0], epoch, "because"));

        Assert.Equal(["because"], await ReasonsAsync());
        Assert.Equal(
            batch.Ids[0], await Database.ScalarAsync<Guid>(
                "SELECT correlation_id FROM payments WHERE parked_at IS NOT NULL"));
        var adopter = await Database.OpenEpochAsync();
        var adopted = await Database.Adoptions.AdoptAsync(new AdoptArgs(epoch, adopter, Batches.Earliest, 100));
        Assert.Equal(batch.Ids[1], Assert.Single(adopted).CorrelationId);
        Assert.Empty(await Database.Adoptions.AdoptAsync(new AdoptArgs(0, adopter, Batches.Earliest, 100)));
    }

    [PostgresFact]
    public async Task Parked_payments_are_counted_by_their_reasons_up_to_the_limit()
    {
        var (epoch, batch) = await StoreAsync();
        Assert.Empty(await Parked.CountAsync(10));

        await ParkAllAsync(epoch, batch, at => $"reason {at}");

        Assert.Equal(
            [new ParkedCountRow("reason 0", 1), new ParkedCountRow("reason 1", 1)],
            (await Parked.CountAsync(10)).OrderBy(row => row.Reason));
        Assert.Equal(1, (await Parked.CountAsync(1)).Single().Payments);
    }

    [PostgresFact]
    public async Task A_payment_that_has_another_owner_or_acceptance_by_now_is_not_parked()
    {
        var (epoch, batch) = await StoreAsync();

        await Parked.ParkAsync(new ParkArgs(batch.Ids[0], batch.AcceptedAts[0], epoch + 1, "late"));
        await Parked.ParkAsync(new ParkArgs(batch.Ids[0], batch.AcceptedAts[1], epoch, "late"));

        Assert.Empty(await ReasonsAsync());
    }

    [PostgresFact]
    public async Task A_replayed_payment_may_be_adopted_by_anyone_and_is_in_doubt()
    {
        var (epoch, batch) = await StoreAsync();
        await Parked.ParkAsync(new ParkArgs(batch.Ids[0], batch.AcceptedAts[0], epoch, "because"));

        // A processor that was removed from the configuration cannot be asked.
        await Database.ExecuteAsync("INSERT INTO processors (id, name) VALUES (3, 'former')");
        Assert.True(await Parked.ReplayAsync(batch.Ids[0]));
        Assert.False(await Parked.ReplayAsync(batch.Ids[0]));
        Assert.False(await Parked.ReplayAsync(batch.Ids[1]));

        Assert.Empty(await ReasonsAsync());
        var adopter = await Database.OpenEpochAsync();
        var adopted = Assert.Single(
            await Database.Adoptions.AdoptAsync(new AdoptArgs(0, adopter, Batches.Earliest, 100)));
        Assert.Equal(
            (batch.Ids[0], Known.AtBoth), (adopted.CorrelationId, new ProcessorSet(adopted.MayBeAt!.Value)));
    }

    [PostgresFact]
    public async Task A_replayed_payment_that_a_processor_rejected_may_be_there_alone()
    {
        var (epoch, batch) = await StoreAsync();
        await Parked.ParkAsync(new ParkArgs(
            batch.Ids[0], batch.AcceptedAts[0], epoch, "fallback answered 400", 1,
            ProcessorSet.Of(Known.Fallback).Bits));

        Assert.True(await Parked.ReplayAsync(batch.Ids[0]));

        var adopter = await Database.OpenEpochAsync();
        var adopted = Assert.Single(
            await Database.Adoptions.AdoptAsync(new AdoptArgs(0, adopter, Batches.Earliest, 100)));
        Assert.Equal(ProcessorSet.Of(Known.Fallback), new ProcessorSet(adopted.MayBeAt!.Value));
    }

    // The lost ledger may have replayed it, and another processor may have charged it then.
    [PostgresFact]
    public async Task After_a_restore_a_parked_payment_that_a_processor_rejected_may_be_anywhere()
    {
        var (epoch, batch) = await StoreAsync();
        await Parked.ParkAsync(new ParkArgs(
            batch.Ids[0], batch.AcceptedAts[0], epoch, "default answered 400", 1, Known.AtDefault.Bits));

        await Database.Restore.DoubtAllAsync([Known.Default.Name, Known.Fallback.Name]);
        Assert.True(await Parked.ReplayAsync(batch.Ids[0]));

        var adopter = await Database.OpenEpochAsync();
        var adopted = Assert.Single(
            await Database.Adoptions.AdoptAsync(new AdoptArgs(0, adopter, Batches.Earliest, 100)));
        Assert.Equal(Known.AtBoth, new ProcessorSet(adopted.MayBeAt!.Value));
    }

    [PostgresFact]
    public async Task Replayed_pages_follow_each_other_without_a_gap_in_the_order_of_acceptance()
    {
        var (epoch, batch) = await StoreAsync(25);
        // Six of them at the same time: a page ends between them.
        await Database.ExecuteAsync(
            $"UPDATE payments SET accepted_at = '{Batches.Noon:O}' WHERE accepted_at < '{batch.AcceptedAts[6]:O}'");
        Array.Fill(batch.AcceptedAts, Batches.Noon, 0, 6);
        await ParkAllAsync(epoch, batch, at => at % 5 == 0 ? "rare" : "frequent");

        foreach (var (reason, count) in new[] { ("unknown", 0), ("rare", 5), (null, 20) })
        {
            var replayed = new List<Guid>();
            for (var after = PaymentCursor.Start; ;)
            {
                var page = await Parked.ReplayPageAsync(after, reason, 4);
                replayed.AddRange(page.OrderBy(cursor => (cursor.AcceptedAt, cursor.Id)).Select(cursor => cursor.Id));
                if (page.Count < 4)
                    break;

                after = page.MaxBy(cursor => (cursor.AcceptedAt, cursor.Id))!;
            }

            Assert.Equal(count, replayed.Count);
            Assert.Equal(batch.Ids.Where(replayed.Contains), replayed);
        }
    }

    [PostgresFact]
    public async Task Concurrent_replays_of_one_reason_replay_each_payment_once()
    {
        var (epoch, batch) = await StoreAsync(25);
        await ParkAllAsync(epoch, batch, at => at % 5 == 0 ? "rare" : "frequent");

        var replayed = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(
            () => Parked.ReplayPageAsync(PaymentCursor.Start, "frequent", 100))));

        Assert.Equal(20, replayed.Sum(page => page.Count));
        Assert.All(await ReasonsAsync(), reason => Assert.Equal("rare", reason));
        var adopter = await Database.OpenEpochAsync();
        var adopted = await Database.Adoptions.AdoptAsync(new AdoptArgs(0, adopter, Batches.Earliest, 100));
        Assert.Equal(20, adopted.Count(row => row.MayBeAt == Known.AtBoth.Bits));
        Assert.Equal(5, (await Parked.ReplayPageAsync(PaymentCursor.Start, null, 100)).Count);
    }

    private Task<string[]> ReasonsAsync() => Database.ScalarAsync<string[]>(
        "SELECT coalesce(array_agg(parked_reason), '{}') FROM payments "
        + $"WHERE owner_epoch = {Owners.Sql.Parked}");

    private async Task ParkAllAsync(int epoch, StoreArgs batch, Func<int, string> reason)
    {
        for (var i = 0; i < batch.Ids.Length; i++)
            await Parked.ParkAsync(new ParkArgs(batch.Ids[i], batch.AcceptedAts[i], epoch, reason(i)));
    }

    private async Task<(int Epoch, StoreArgs Batch)> StoreAsync(int payments = 2)
    {
        var epoch = await Database.OpenEpochAsync();
        return (epoch, await Database.StoreAsync(epoch, payments));
    }
}
