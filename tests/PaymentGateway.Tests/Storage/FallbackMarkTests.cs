namespace PaymentGateway.Tests.Storage;

public sealed class FallbackMarkTests : OwnDatabase
{
    // As the ledger has them: 2 and 4 are the processors.
    private const short Unsent = 0;
    private const short AtDefault = 2;
    private const short AtBoth = 6;

    private long _renewals;

    private LeaseStore Leases => Database.Leases;

    private AdoptionStore Adoptions => Database.Adoptions;

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
        Assert.Equal(
            Known.AtBoth.Bits,
            Assert.Single(await Adoptions.OrphanedAsync(""), orphaned => orphaned.Epoch == epoch).UsedProcessors);
    }

    // Owners one after another, each of which dies, or stops cleanly with its payments unsent or in doubt; + has used
    // fallback. The first payment goes through the hands of all, the second one is the last owner's own.
    [PostgresTheory]
    [InlineData("dies", AtDefault, AtDefault)]
    [InlineData("dies+", AtBoth, AtBoth)]
    [InlineData("dies+ dies", AtBoth, AtDefault)]
    [InlineData("dies dies+", AtBoth, AtBoth)]
    [InlineData("unsent dies", AtDefault, AtDefault)]
    [InlineData("unsent", Unsent, Unsent)]
    [InlineData("unsent+", Unsent, Unsent)]
    [InlineData("doubt", AtDefault, Unsent)]
    [InlineData("doubt+", AtBoth, Unsent)]
    [InlineData("dies+ doubt", AtBoth, Unsent)]
    [InlineData("doubt dies", AtDefault, AtDefault)]
    public async Task Payments_change_hands_with_the_doubt_that_any_of_their_owners_may_have_left(
        string owners, short first, short own)
    {
        var owner = await Database.OpenEpochAsync();
        var passed = (await Database.StoreAsync(owner, 1)).Ids[0];
        List<StoredPayment> adopted = [];
        Guid last = default;
        foreach (var end in owners.Split(' '))
        {
            last = (await Database.StoreAsync(owner, 1, Batches.Noon.AddHours(1))).Ids[0];
            Assert.True(await RenewAsync(owner, end.EndsWith('+')));
            if (end.StartsWith("dies", StringComparison.Ordinal))
                await Leases.CloseAsync(owner);
            else
                await Leases.ReleaseAsync(new ReleaseArgs(
                    owner, Batches.Earliest, end.StartsWith("doubt", StringComparison.Ordinal) ? [passed] : []));
            var next = await Database.OpenEpochAsync();
            var from = end.StartsWith("dies", StringComparison.Ordinal) ? owner : Owners.Nobody;
            adopted = await Adoptions.AdoptAsync(new AdoptArgs(from, next, Batches.Earliest, 100));
            owner = next;
        }

        Assert.All(adopted, row => Assert.Equal(owner, row.OwnerEpoch));
        Assert.Equal(first, adopted.Single(row => row.CorrelationId == passed).MayBeAt);
        Assert.Equal(own, adopted.Single(row => row.CorrelationId == last).MayBeAt);
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
        var leases = new LeaseStore(connections, Database.Shared);
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

    private Task<bool> IsMarkedAsync(int epoch) => Database.LeaseAsync<bool>(epoch, "used_processors & 4 <> 0");
}
