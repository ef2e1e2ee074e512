namespace PaymentGateway.Tests.Leasing;

public sealed class CrashedDatabaseTests : OwnRig
{
    private readonly OwnServerDatabase _database = new();

    private protected override TestDatabase NewDatabase() => _database;

    [PostgresFact]
    public async Task After_a_crash_payments_accepted_anew_elsewhere_are_dropped_and_the_others_are_stored_again()
    {
        await Rig.Default.SetFailureAsync(true);
        await Rig.Fallback.SetFailureAsync(true);
        var gateway = await Rig.StartGatewayAsync();
        var (others, mine) = (await gateway.PayAsync(), await gateway.PayAsync());
        var other = await _database.OpenEpochAsync();

        // As a crash leaves it, and the other instance before this one has noticed.
        await _database.ExecuteAsync($"""
            BEGIN;
            TRUNCATE payments, settlements, settlement_totals, ledger_intact;
            INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
            VALUES ('{others}', 1990, now(), {other});
            COMMIT
            """);
        await Eventually.HoldsAsync(async () => await Rig.CountStoredAsync() == 2, "the other one is stored again");
        await Rig.Default.SetFailureAsync(false);
        await Rig.LedgersReachAsync(byDefault: 1);
        await Eventually.HoldsAsync(
            () => gateway.Part<UnsettledPayments>().Count == 0, "nothing else is in memory");

        Assert.Equal(mine, Assert.Single(await Rig.Default.PaymentsAsync()).Key);
        Assert.Empty(await Rig.Fallback.PaymentsAsync());
    }

    [PostgresFact]
    public async Task An_epoch_that_was_closed_a_moment_before_the_crash_is_closed_after_it()
    {
        await using var connections = LedgerSetup.Leases(
            _database.ConnectionString, TimeSpan.FromSeconds(3), TimeProvider.System);
        var leases = new LeaseStore(connections, _database.Shared);
        await leases.AnswersAsync();
        for (var crash = 0; crash < 3; crash++)
        {
            var epoch = await leases.OpenAsync(new OpenLeaseArgs("one", TimeSpan.FromMinutes(1)));
            await leases.CloseAsync(epoch);
            await _database.Server.CrashAsync();
            await _database.StartAgainAsync();

            Assert.Equal(1, await _database.ScalarAsync<long>(
                $"SELECT count(*) FROM leases WHERE epoch = {epoch} AND closed_at IS NOT NULL"));
            // The pool has noticed.
            await leases.AnswersAsync();
        }
    }
}
