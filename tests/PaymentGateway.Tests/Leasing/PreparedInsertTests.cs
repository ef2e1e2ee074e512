using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Leasing;

/// <summary>An INSERT that commits long after its instance was killed, because its transaction was prepared.</summary>
public sealed class PreparedInsertTests(OwnServerDatabase database) : IClassFixture<OwnServerDatabase>
{
    private readonly Guid _id = Guid.NewGuid();

    private string PrepareSql => $"PREPARE TRANSACTION '{_id}'";

    [PostgresTheory]
    [InlineData(false, false)]
    [InlineData(false, true)]
    [InlineData(true, true)]
    public async Task An_adopter_searches_an_epoch_until_the_prepared_INSERT_has_ended(bool preparesLate, bool restarts)
    {
        await using var stages = Stages.Build(database.ConnectionString, TimeProvider.System, urls: null);
        stages.HoldLease(await database.OpenEpochAsync());
        var killed = await database.OpenEpochAsync();
        await using (var insert = await InsertAsync(killed))
        {
            if (!preparesLate)
                await insert.ExecuteAsync(PrepareSql);
            await database.Leases.CloseAsync(killed);
            await AdoptAsync(stages);
            if (preparesLate)
                await insert.ExecuteAsync(PrepareSql);
        }

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
        await using (var insert = await InsertAsync(await database.OpenEpochAsync()))
            await insert.ExecuteAsync(PrepareSql);
        var intake = stages.Part<Intake>();

        Assert.Equal(AcceptResult.Unavailable, await intake.AcceptAsync(_id, 1990));
        await database.ExecuteAsync($"COMMIT PREPARED '{_id}'");

        Assert.Equal(AcceptResult.Accepted, await intake.AcceptAsync(_id, 1990));
        Assert.Equal(AcceptResult.Conflict, await intake.AcceptAsync(_id, 1991));
        Assert.Equal(0, stages.Open.Count);
    }

    // A store of several servers may report a commit before all of them show it.
    [PostgresFact]
    public async Task A_payment_that_its_INSERT_stored_is_settled_here_though_no_row_is_visible_yet()
    {
        await using var stages = Stages.Build(database.ConnectionString, TimeProvider.System, urls: null);
        var epoch = await database.OpenEpochAsync();
        stages.HoldLease(epoch);
        var known = await database.StoreAsync(epoch, 1);
        await database.ExecuteAsync("""
            CREATE FUNCTION hide() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN DELETE FROM payments WHERE correlation_id = NEW.correlation_id; RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER hide AFTER INSERT ON payments DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION hide()
            """);
        var batch = new[] { known.Ids[0], _id }
            .Select(id => new PendingAcceptance(new Payment(id, 1990))).ToList();

        await stages.Part<IntakeWriter>().StoreAsync(batch);

        await database.ExecuteAsync("DROP FUNCTION hide CASCADE");
        foreach (var acceptance in batch)
            Assert.Equal(AcceptResult.Accepted, await acceptance.Task);
        Assert.Equal(_id, Assert.Single(stages.Open.Snapshot()).Id);
    }

    private Task<NpgsqlConnection> InsertAsync(int epoch) => database.HoldAsync($"""
        INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
        VALUES ('{_id}', 1990, '{Batches.Noon:O}', {epoch})
        """);

    private Task<bool> IsAdoptedAsync(int epoch) => database.LeaseAsync<bool>(epoch, "adopted_at IS NOT NULL");

    // The connections of before a restart break, and an adoption without an answer costs the adopter its epoch.
    private async Task AdoptAsync(Stages stages)
    {
        for (var turn = 1; ; turn++)
        {
            try
            {
                await stages.Part<OrphanAdoption>().AdoptAllAsync([]);
                return;
            }
            catch (NpgsqlException) when (turn < 10)
            {
                stages.HoldLease(await database.OpenEpochAsync());
            }
        }
    }
}
