
namespace PaymentGateway.Tests.Leasing;

/// <summary>Adoption and release of an epoch with an old unsettled payment and many settled ones after it.</summary>
public sealed class OrphanPageTests : OwnDatabase
{
    private const int RowsMax = 10_000;

    private Stages _stages = null!;
    private int _mine;
    private int _owner;

    private OrphanAdoption Adoption => _stages.Part<OrphanAdoption>();

    private int Adopted => _stages.Open.Count;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();

        _stages = Stages.Build(Database.ConnectionString, TimeProvider.System, urls: null);
        _mine = await Database.OpenEpochAsync();
        _owner = await Database.OpenEpochAsync();
        _stages.HoldLease(_mine);
    }

    public override async Task DisposeAsync()
    {
        if (_stages is not null)
            await _stages.DisposeAsync();
        await base.DisposeAsync();
    }

    [PostgresFact]
    public async Task An_adoption_reads_a_page_of_settled_payments_at_a_time()
    {
        await Database.StoreAsync(_owner, 1, Batches.Noon);
        await Database.SettleAsync(_owner, (2 * RowsMax) + 1, Batches.Noon.AddSeconds(1));
        await Database.StoreAsync(_owner, 1, Batches.Noon.AddSeconds(2));
        await Database.Leases.CloseAsync(_owner);

        var adopted = new List<int>();
        while (!await IsSearchedAsync())
        {
            await Adoption.AdoptAllAsync();
            adopted.Add(Adopted);
        }

        Assert.Equal([1, 1, 2], adopted);
    }

    [PostgresFact]
    public async Task Payments_of_one_acceptance_time_are_adopted_although_a_page_ends_between_them()
    {
        await Database.SettleAsync(_owner, RowsMax - 1, Batches.Noon);
        for (var tie = 0; tie < 3; tie++)
            await Database.StoreAsync(_owner, 1, Batches.Noon.AddSeconds(1));
        await Database.Leases.CloseAsync(_owner);

        while (!await IsSearchedAsync())
            await Adoption.AdoptAllAsync();

        Assert.Equal(3, Adopted);
    }

    // It would pass payments by that the other adopter may never take.
    [PostgresFact]
    public async Task A_page_that_another_adopter_has_claimed_is_read_again()
    {
        await Database.SettleAsync(_owner, RowsMax, Batches.Noon);
        await Database.StoreAsync(_owner, 1, Batches.Noon.AddSeconds(1));
        await Database.SettleAsync(_owner, RowsMax, Batches.Noon.AddSeconds(2));
        await Database.Leases.CloseAsync(_owner);
        await Adoption.AdoptAllAsync();

        await using (await Database.HoldAsync($"SELECT FROM leases WHERE epoch = {_owner} FOR UPDATE"))
            for (var turn = 0; turn < 4; turn++)
                await Adoption.AdoptAllAsync();

        Assert.Equal((0, false), (Adopted, await IsSearchedAsync()));
        while (!await IsSearchedAsync())
            await Adoption.AdoptAllAsync();
        Assert.Equal(1, Adopted);
    }

    // A statement that began before the epoch was closed may store at a time that the search has passed.
    [PostgresFact]
    public async Task A_search_that_began_before_the_last_statement_was_over_is_not_the_last()
    {
        await Database.SettleAsync(_owner, RowsMax, Batches.Noon.AddSeconds(1));
        await using (var late = await Database.HoldAsync($"""
            INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
            VALUES ('{Guid.NewGuid()}', 1990, '{Batches.Noon:O}', {_owner})
            """))
        {
            await Database.Leases.CloseAsync(_owner);
            await Adoption.AdoptAllAsync();
            await late.ExecuteAsync("COMMIT");
        }

        while (!await IsSearchedAsync())
            await Adoption.AdoptAllAsync();

        Assert.Equal(1, Adopted);
    }

    [PostgresFact]
    public async Task A_release_commits_a_page_of_payments_at_a_time()
    {
        await Database.StoreAsync(_owner, 1, Batches.Noon);
        await Database.SettleAsync(_owner, RowsMax, Batches.Noon.AddSeconds(1));
        var last = (await Database.StoreAsync(_owner, 1, Batches.Noon.AddSeconds(2))).Ids[0];
        Task<int> releasing;
        await using (await Database.HoldAsync($"SELECT FROM payments WHERE correlation_id = '{last}' FOR UPDATE"))
        {
            releasing = Database.Leases.ReleaseAsync(new ReleaseArgs(_owner, Batches.Earliest, []));
            await Eventually.HoldsAsync(
                () => Database.ScalarAsync<bool>("SELECT EXISTS (SELECT FROM payments WHERE owner_epoch = 0)"),
                "the first page is released");
        }

        Assert.Equal(2, await releasing);
    }

    private Task<bool> IsSearchedAsync() => Database.LeaseAsync<bool>(_owner, "adopted_at IS NOT NULL");
}
