namespace PaymentGateway.Tests.Leasing;

public sealed class CrashedDatabaseTests : OwnRig
{
    private readonly OwnServerDatabase _database = new();

    private protected override TestDatabase NewDatabase() => _database;

    // An Unlogged ledger promises nothing after a crash of PostgreSQL. What is gone must not be charged without a row.
    [PostgresFact]
    public async Task After_a_crash_nothing_is_charged_that_the_ledger_lacks_and_the_next_epoch_goes_on()
    {
        await Rig.Default.SetFailureAsync(true);
        await Rig.Fallback.SetFailureAsync(true);
        var gateway = await Rig.StartGatewayAsync();
        var (before, lost) = (gateway.Epoch, await gateway.PayAsync());

        // As a crash leaves it.
        await _database.ExecuteAsync("TRUNCATE payments, settlements, settlement_totals, ledger_intact");
        await Eventually.HoldsAsync(() => gateway.Epoch != before, "the next epoch has begun");
        await Rig.Default.SetFailureAsync(false);
        var later = await gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 1);
        await Eventually.HoldsAsync(() => before.IsAtRest, "no charge of the former epoch is in flight");

        Assert.Equal(later, Assert.Single(await Rig.Default.PaymentsAsync()).Key);
        Assert.Empty(await Rig.Fallback.PaymentsAsync());
        Assert.Equal(1, await Rig.CountStoredAsync());
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
