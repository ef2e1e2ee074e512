
namespace PaymentGateway.Tests.Settling;

/// <summary>How doubts are told to the database, on a clock that the test advances.</summary>
public sealed class DoubtPublisherTests : IAsyncLifetime
{
    private readonly TestDatabase _database = new();
    private readonly WatchedClock _clock = new();
    private Stages _stages = null!;

    private DoubtQueue Doubts => _stages.Doubts;

    public async Task InitializeAsync()
    {
        await _database.InitializeAsync();
        _stages = Stages.Build(_database.ConnectionString, _clock, urls: null);
        await _stages.StartAsync<DoubtPublisher>();
    }

    public async Task DisposeAsync()
    {
        await _stages.DisposeAsync();
        await _database.DisposeAsync();
    }

    [PostgresFact]
    public async Task A_doubt_that_ends_at_once_is_not_told()
    {
        var payments = await StoreAsync(2);

        payments.ForEach(Doubts.Begin);
        Doubts.Forget(payments[0]);

        await TellsAsync(1);
        Assert.Equal(payments[1].Id, await _database.ScalarAsync<Guid>("SELECT correlation_id FROM doubts"));
    }

    [PostgresFact]
    public async Task A_doubt_that_ended_without_a_charge_is_taken_back()
    {
        var payments = await StoreAsync(2_500);
        payments.ForEach(Doubts.Begin);
        await TellsAsync(2_500);

        payments.ForEach(Doubts.End);

        await TellsAsync(0);
    }

    [PostgresFact]
    public async Task What_the_database_refuses_is_logged_once_and_told_later()
    {
        await _database.ExecuteAsync("ALTER TABLE doubts RENAME TO others");
        (await StoreAsync(1)).ForEach(Doubts.Begin);
        await Eventually.HoldsAsync(
            () =>
            {
                _clock.Advance(TimeSpan.FromSeconds(1));
                return _stages.ShownOf<DoubtPublisher>().Count == 1;
            },
            "it is logged");
        var began = _clock.GetUtcNow();
        await Eventually.HoldsAsync(
            () =>
            {
                _clock.Advance(TimeSpan.FromSeconds(1));
                return _clock.GetUtcNow() - began > TimeSpan.FromMinutes(2);
            },
            "it was tried again and again");
        Assert.StartsWith(
            "Failed to save in-doubt changes: ", Assert.Single(_stages.ShownOf<DoubtPublisher>()),
            StringComparison.Ordinal);

        await _database.ExecuteAsync("ALTER TABLE others RENAME TO doubts");

        await TellsAsync(1);
    }

    [PostgresFact]
    public async Task What_is_settled_is_swept_within_half_a_minute_or_so()
    {
        var payment = Assert.Single(await StoreAsync(1));
        Doubts.Begin(payment);
        await TellsAsync(1);

        await _database.ExecuteAsync("""
            INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at)
            SELECT correlation_id, accepted_at, 1, amount_cents, accepted_at FROM payments
            """);

        await TellsAsync(0);
    }

    // Those that are not stored would be swept.
    private async Task<List<Payment>> StoreAsync(int count)
    {
        var batch = Batches.ToStore(Batches.SortedIds(count), await _database.OpenEpochAsync());
        await _database.Payments.StoreAsync(batch);
        return [.. batch.Ids.Select((id, at) => new Payment(id, 1990, batch.AcceptedAts[at], batch.OwnerEpoch))];
    }

    private Task TellsAsync(long doubts) => Eventually.HoldsAsync(
        async () =>
        {
            _clock.Advance(TimeSpan.FromMilliseconds(100));
            return await _database.ScalarAsync<long>("SELECT count(*) FROM doubts") == doubts;
        },
        $"{doubts} doubts are in the database");
}
