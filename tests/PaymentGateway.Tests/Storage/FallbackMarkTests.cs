
namespace PaymentGateway.Tests.Storage;

/// <summary>An epoch's mark of fallback, and what it means for the payments that change hands.</summary>
public sealed class FallbackMarkTests : OwnDatabase
{
    private long _renewals;

    private LeaseStore Leases => Database.Leases;

    [PostgresFact]
    public async Task A_new_epoch_has_not_used_fallback_and_no_renewal_takes_the_mark_back()
    {
        var epoch = await Database.OpenEpochAsync();
        Assert.True(await RenewAsync(epoch, usesFallback: false));
        Assert.False(await IsMarkedAsync(epoch));

        Assert.True(await RenewAsync(epoch, usesFallback: true));
        Assert.True(await RenewAsync(epoch, usesFallback: false));

        Assert.True(await IsMarkedAsync(epoch));
        await Leases.CloseAsync(epoch);
        Assert.True(Assert.Single(await Leases.OrphanedAsync(), orphaned => orphaned.Epoch == epoch).UsedFallback);
    }

    [PostgresFact]
    public async Task An_epoch_without_a_value_for_the_mark_counts_as_one_that_used_fallback()
    {
        // As an instance of an earlier version begins one.
        var epoch = await Database.ScalarAsync<int>(
            "INSERT INTO leases (instance, expires_at) VALUES ('earlier', now()) RETURNING epoch");

        Assert.True(await IsMarkedAsync(epoch));
    }

    // The mark has to outlive a crash that follows at once.
    [PostgresTheory]
    [InlineData("")]
    [InlineData(";Options=-c synchronous_commit=off")]
    public async Task The_mark_is_flushed_when_it_is_committed(string settings)
    {
        // As the unlogged profile has it, whatever the server says.
        await Database.ReopenAsync("synchronous_commit=off");
        await using var connections = LedgerSetup.Leases(
            Database.ConnectionString + settings, TimeSpan.FromSeconds(3), TimeProvider.System);
        var leases = new LeaseStore(connections, Database.Shared, Database.Connections);
        await leases.AnswersAsync();
        var epoch = await Database.OpenEpochAsync();
        await Database.ExecuteAsync("""
            CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN NEW.instance := current_setting('synchronous_commit'); RETURN NEW; END $$
            """);
        await Database.ExecuteAsync(
            "CREATE OR REPLACE TRIGGER note BEFORE UPDATE ON leases FOR EACH ROW EXECUTE FUNCTION note()");

        Assert.True(await RenewAsync(epoch, usesFallback: false));
        Assert.Equal("off", await Database.LeaseAsync<string>(epoch, "instance"));
        Assert.True((await leases.RenewAsync(Batches.Renewal(epoch, ++_renewals, usesFallback: true))).Renewed);
        Assert.Equal("on", await Database.LeaseAsync<string>(epoch, "instance"));
    }

    private async Task<bool> RenewAsync(int epoch, bool usesFallback) =>
        (await Leases.RenewAsync(Batches.Renewal(epoch, ++_renewals, usesFallback))).Renewed;

    private Task<bool> IsMarkedAsync(int epoch) => Database.LeaseAsync<bool>(epoch, "used_fallback");
}
