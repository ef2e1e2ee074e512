namespace PaymentGateway.Tests.Charging;

public sealed class DoubtPublisherTests : OneInstance
{
    private DoubtNotes Notes => Stages.Notes;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        await Stages.StartAsync<DoubtPublisher>();
    }

    [PostgresFact]
    public async Task A_doubt_that_ended_without_a_charge_is_taken_back()
    {
        var payments = await StoreAsync(2_500);
        payments.ForEach(Notes.Begin);
        await TellsAsync(2_500);

        payments.ForEach(Notes.End);

        await TellsAsync(0);
    }

    [PostgresFact]
    public async Task What_the_database_refuses_is_logged_once_and_told_later()
    {
        await Database.ExecuteAsync("ALTER TABLE doubts RENAME TO others");
        (await StoreAsync(1)).ForEach(Notes.Begin);
        await Clock.AdvancesUntilAsync(
            () => Stages.ShownOf<DoubtPublisher>().Count == 1, TimeSpan.FromSeconds(1), "it is logged");
        var began = Clock.GetUtcNow();
        await Clock.AdvancesUntilAsync(
            () => Clock.GetUtcNow() - began > TimeSpan.FromMinutes(2), TimeSpan.FromSeconds(1),
            "it was tried again and again");
        Assert.StartsWith(
            "Failed to store which payments are in doubt: ", Assert.Single(Stages.ShownOf<DoubtPublisher>()),
            StringComparison.Ordinal);

        await Database.ExecuteAsync("ALTER TABLE others RENAME TO doubts");

        await TellsAsync(1);
    }

    [PostgresFact]
    public async Task What_is_settled_is_swept_within_half_a_minute_or_so()
    {
        var payment = Assert.Single(await StoreAsync(1));
        Notes.Begin(payment);
        await TellsAsync(1);

        await Database.ExecuteAsync("""
            INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at)
            SELECT correlation_id, accepted_at, 1, amount_cents, accepted_at FROM payments
            """);

        await TellsAsync(0);
    }

    // Stored, because otherwise the payments would be swept.
    private async Task<List<Payment>> StoreAsync(int count)
    {
        var batch = Batches.ToStore(Batches.SortedIds(count), await Database.OpenEpochAsync());
        await Database.Payments.StoreAsync(batch);
        return [.. batch.Ids.Select((id, at) => new Payment(id, 1990, batch.AcceptedAts[at], batch.OwnerEpoch))];
    }

    private Task TellsAsync(long doubts) => Clock.AdvancesUntilAsync(
        async () => await Database.ScalarAsync<long>("SELECT count(*) FROM doubts") == doubts,
        TimeSpan.FromMilliseconds(100), $"{doubts} doubts are in the database");
}
