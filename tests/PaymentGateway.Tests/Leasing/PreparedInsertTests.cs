using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Leasing;

/// <summary>An INSERT that commits long after its instance was killed, because its transaction was prepared.</summary>
public sealed class PreparedInsertTests(OwnServerDatabase database) : IClassFixture<OwnServerDatabase>
{
    private readonly Guid _id = Guid.NewGuid();

    // After a restart of the server the transaction has another name.
    [PostgresTheory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task An_adopter_searches_an_epoch_until_the_prepared_INSERT_has_ended(bool restarts)
    {
        await using var stages = Stages.Build(database.ConnectionString, TimeProvider.System, urls: null);
        stages.HoldLease(await database.OpenEpochAsync());
        var killed = await PrepareAsync();
        await database.Leases.CloseAsync(killed);
        await AdoptAsync(stages);
        if (restarts)
        {
            await database.Server.StopAsync();
            await database.StartAgainAsync();
        }

        await AdoptAsync(stages);
        await AdoptAsync(stages);
        Assert.False(await IsAdoptedAsync(killed));
        Assert.Empty(stages.Open.Snapshot());
        await database.ExecuteAsync($"COMMIT PREPARED '{_id}'");
        await AdoptAsync(stages);
        await AdoptAsync(stages);

        Assert.Equal(_id, Assert.Single(stages.Open.Snapshot()).Id);
        Assert.True(await IsAdoptedAsync(killed));
    }

    [PostgresFact]
    public async Task A_payment_posted_again_is_refused_until_the_prepared_INSERT_has_ended_and_never_charged_here()
    {
        await using var stages = Stages.Build(database.ConnectionString, TimeProvider.System, urls: null);
        stages.HoldLease(await database.OpenEpochAsync());
        await PrepareAsync();
        var intake = stages.Part<Intake>();

        Assert.Equal(AcceptResult.Unavailable, await intake.AcceptAsync(_id, 1990));
        await database.ExecuteAsync($"COMMIT PREPARED '{_id}'");

        Assert.Equal(AcceptResult.Accepted, await intake.AcceptAsync(_id, 1990));
        Assert.Equal(AcceptResult.Conflict, await intake.AcceptAsync(_id, 1991));
        Assert.Equal(0, stages.Open.Count);
    }

    private async Task<int> PrepareAsync()
    {
        var epoch = await database.OpenEpochAsync();
        await using var insert = await database.HoldAsync($"""
            INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
            VALUES ('{_id}', 1990, '{Batches.Noon:O}', {epoch})
            """);
        await insert.ExecuteAsync($"PREPARE TRANSACTION '{_id}'");
        return epoch;
    }

    private Task<bool> IsAdoptedAsync(int epoch) => database.LeaseAsync<bool>(epoch, "adopted_at IS NOT NULL");

    // The connections of before a restart break, and an adoption without an answer costs the adopter its epoch.
    private async Task AdoptAsync(Stages stages)
    {
        for (var turn = 1; ; turn++)
        {
            try
            {
                await stages.Part<OrphanAdoption>().AdoptAllAsync();
                return;
            }
            catch (NpgsqlException) when (turn < 10)
            {
                stages.HoldLease(await database.OpenEpochAsync());
            }
        }
    }
}
