
namespace PaymentGateway.Tests.Storage;

/// <summary>An epoch's mark of fallback, and what it means for the payments that change hands.</summary>
public sealed class FallbackMarkTests : OwnDatabase
{
    private static readonly TimeSpan Minute = TimeSpan.FromMinutes(1);
    private static readonly DateTime Earliest = DateTime.SpecifyKind(DateTime.MinValue, DateTimeKind.Utc);

    private long _renewals;

    private LeaseStore Leases => Database.Leases;

    [PostgresFact]
    public async Task A_new_epoch_has_not_used_fallback_and_no_renewal_takes_the_mark_back()
    {
        var epoch = await Database.OpenEpochAsync();
        await RenewAsync(epoch, usesFallback: false);
        Assert.False(await IsMarkedAsync(epoch));

        await RenewAsync(epoch, usesFallback: true);
        await RenewAsync(epoch, usesFallback: false);

        Assert.True(await IsMarkedAsync(epoch));
        await Leases.CloseAsync(epoch);
        Assert.True(Assert.Single(await Leases.OrphanedAsync(), orphaned => orphaned.Epoch == epoch).UsedFallback);
    }

    [PostgresFact]
    public async Task A_closed_epoch_can_no_longer_mark_that_it_uses_fallback()
    {
        var epoch = await Database.OpenEpochAsync();
        await Leases.CloseAsync(epoch);

        Assert.False((await Leases.RenewAsync(Renewal(epoch, usesFallback: true))).Renewed);

        Assert.False(await IsMarkedAsync(epoch));
    }

    [PostgresFact]
    public async Task An_epoch_without_a_value_for_the_mark_counts_as_one_that_used_fallback()
    {
        // As an instance of an earlier version begins one.
        var epoch = await Database.ScalarAsync<int>(
            "INSERT INTO leases (instance, expires_at) VALUES ('earlier', now()) RETURNING epoch");

        Assert.True(await IsMarkedAsync(epoch));
    }

    [PostgresFact]
    public async Task Adopted_payments_are_in_doubt_at_both_processors_only_when_their_epoch_used_fallback()
    {
        Assert.Equal(PaymentStates.InDoubtAtDefault, await AdoptedAsync(await DiedAsync(usedFallback: false)));
        Assert.Equal(PaymentStates.InDoubt, await AdoptedAsync(await DiedAsync(usedFallback: true)));
    }

    [PostgresFact]
    public async Task Doubt_at_both_processors_is_passed_on_by_adopters_that_never_used_fallback()
    {
        var adopter = await Database.OpenEpochAsync();
        await Leases.AdoptAsync(new AdoptArgs(await DiedAsync(usedFallback: true), adopter, Earliest, 100));
        var own = Batches.ToStore(Batches.SortedIds(1), adopter, Batches.Noon.AddHours(1));
        await Database.Payments.StoreAsync(own);
        await Leases.CloseAsync(adopter);
        var next = await Database.OpenEpochAsync();

        var adopted = await Leases.AdoptAsync(new AdoptArgs(adopter, next, Earliest, 100));

        Assert.Equal(2, adopted.Count);
        Assert.All(adopted, row => Assert.Equal(
            row.CorrelationId == own.Ids[0] ? PaymentStates.InDoubtAtDefault : PaymentStates.InDoubt,
            row.Handover));
    }

    [PostgresFact]
    public async Task Doubt_at_default_becomes_doubt_at_both_when_its_adopter_used_fallback()
    {
        var adopter = await Database.OpenEpochAsync();
        await Leases.AdoptAsync(new AdoptArgs(await DiedAsync(usedFallback: false), adopter, Earliest, 100));
        await RenewAsync(adopter, usesFallback: true);
        await Leases.CloseAsync(adopter);

        Assert.Equal(PaymentStates.InDoubt, await AdoptedAsync(adopter));
    }

    [PostgresTheory]
    [InlineData(false, PaymentStates.InDoubtAtDefault)]
    [InlineData(true, PaymentStates.InDoubt)]
    public async Task A_clean_stop_releases_payments_in_doubt_at_both_processors_only_when_the_epoch_used_fallback(
        bool usedFallback, short handover)
    {
        var epoch = await Database.OpenEpochAsync();
        var batch = Batches.ToStore(Batches.SortedIds(2), epoch);
        await Database.Payments.StoreAsync(batch);
        await RenewAsync(epoch, usedFallback);

        await Leases.ReleaseAsync(new ReleaseArgs(epoch, Earliest, batch.Ids[..1]));

        var adopted = await Leases.AdoptAsync(new AdoptArgs(0, await Database.OpenEpochAsync(), Earliest, 100));
        Assert.Equal(
            [handover, PaymentStates.Unsent],
            adopted.OrderBy(row => row.AcceptedAt).Select(row => row.Handover));
    }

    [PostgresFact]
    public async Task A_clean_stop_releases_adopted_payments_with_the_doubt_that_they_came_with()
    {
        var adopter = await Database.OpenEpochAsync();
        var adopted = await Leases.AdoptAsync(
            new AdoptArgs(await DiedAsync(usedFallback: true), adopter, Earliest, 100));

        await Leases.ReleaseAsync(new ReleaseArgs(adopter, Earliest, [adopted[0].CorrelationId]));

        Assert.Equal(PaymentStates.InDoubt, await AdoptedAsync(0));
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

        await RenewAsync(epoch, usesFallback: false);
        Assert.Equal("off", await InstanceAsync());
        Assert.True((await leases.RenewAsync(Renewal(epoch, usesFallback: true))).Renewed);
        Assert.Equal("on", await InstanceAsync());

        Task<string> InstanceAsync() =>
            Database.ScalarAsync<string>($"SELECT instance FROM leases WHERE epoch = {epoch}");
    }

    private async Task RenewAsync(int epoch, bool usesFallback) =>
        Assert.True((await Leases.RenewAsync(Renewal(epoch, usesFallback))).Renewed);

    private RenewalArgs Renewal(int epoch, bool usesFallback) =>
        new(epoch, Minute, Earliest, DateTime.UnixEpoch, ++_renewals, "", CloseExpired: false, usesFallback);

    private Task<bool> IsMarkedAsync(int epoch) =>
        Database.ScalarAsync<bool>($"SELECT used_fallback FROM leases WHERE epoch = {epoch}");

    // With one payment.
    private async Task<int> DiedAsync(bool usedFallback)
    {
        var epoch = await Database.OpenEpochAsync();
        await Database.Payments.StoreAsync(Batches.ToStore(Batches.SortedIds(1), epoch));
        await RenewAsync(epoch, usedFallback);
        await Leases.CloseAsync(epoch);
        return epoch;
    }

    private async Task<short> AdoptedAsync(int from)
    {
        var adopter = await Database.OpenEpochAsync();
        return Assert.Single(await Leases.AdoptAsync(new AdoptArgs(from, adopter, Earliest, 100))).Handover;
    }
}
