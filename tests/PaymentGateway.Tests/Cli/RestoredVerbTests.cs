namespace PaymentGateway.Tests.Cli;

/// <summary>`restored`, on the tables of a ledger that went on after its backup.</summary>
public sealed class RestoredVerbTests : OwnDatabase
{
    private const short AtBoth = 0b110;
    private const short AtAllThree = 0b1110;

    private static readonly (string Name, string? Value)[] Third =
    [
        ("Gateway__Processors__Third__BaseUrl", "http://127.0.0.1:8003"), ("Gateway__Processors__Third__Fee", "0.2"),
    ];

    private LeaseStore Leases => Database.Leases;

    private AdoptionStore Adoptions => Database.Adoptions;

    [PostgresFact]
    public async Task Every_unsettled_payment_is_in_doubt_at_every_processor_and_settled_and_parked_ones_stay()
    {
        var owner = await Database.OpenEpochAsync();
        await Database.SettleAsync(owner, 1);
        var parked = (await Database.StoreAsync(owner, 1)).Ids[0];
        await Database.ParkAsync($"correlation_id = '{parked}'");
        var owned = await Database.StoreAsync(owner, 2);
        var stopped = await Database.OpenEpochAsync();
        var released = await Database.StoreAsync(stopped, 2);
        await Leases.ReleaseAsync(new ReleaseArgs(stopped, Batches.Earliest, [released.Ids[0]]));

        Assert.Equal(2, (await RestoredAsync()).GetProperty("epochs").GetInt32());

        Assert.All(await AdoptAllAsync(owned.Ids.Concat(released.Ids)), row => Assert.Equal(AtBoth, row.MayBeAt));
        Assert.Equal(1, await Database.ScalarAsync<long>("SELECT count(*) FROM payments WHERE owner_epoch = -1"));
    }

    [PostgresFact]
    public async Task An_instance_that_runs_on_loses_its_epoch_whose_number_is_never_given_again()
    {
        var running = await Database.OpenEpochAsync();
        var before = await Database.LedgerState.StateAsync();

        await RestoredAsync();

        var renewal = await Leases.RenewAsync(Batches.Renewal(running));
        Assert.Equal((false, false), (renewal.Renewed, renewal.IsOpen));
        // Not the next one: the lost ledger may have been purged after the backup.
        Assert.InRange(renewal.Generation, before.Generation + 1_000, int.MaxValue);
        Assert.InRange(await Database.OpenEpochAsync(), running + 1_000_000, int.MaxValue);
    }

    // A name that was given up, left in the environment: nobody answers for it, so no doubt would end. Or one that the
    // lost ledger got after the backup.
    [PostgresFact]
    public async Task A_processor_that_no_instance_of_the_backup_has_is_refused_unless_it_is_named_again()
    {
        await Leases.OpenAsync(new OpenLeaseArgs(
            "one", TimeSpan.FromMinutes(1), "default=http://127.0.0.1:8001/ fallback=http://127.0.0.1:8002/"));
        var owned = await Database.StoreAsync(await Database.OpenEpochAsync(), 1);

        (await RunAsync([], Third)).AssertFailed(78, "--also third");
        Assert.Equal(1, (await Database.LedgerState.StateAsync()).Generation);
        Assert.Equal(0, (await RunAsync(["--also", "third"], Third)).ExitCode);

        Assert.All(await AdoptAllAsync(owned.Ids), row => Assert.Equal(AtAllThree, row.MayBeAt));
    }

    [Fact]
    public async Task Without_the_processors_it_ends_with_78() =>
        (await Verb.RunAsync("restored", "--ledger", "Host=/nowhere")).AssertFailed(78, "Gateway__Processors: ");

    private async Task<List<StoredPayment>> AdoptAllAsync(IEnumerable<Guid> expected)
    {
        var adopter = await Database.OpenEpochAsync();
        var adopted = new List<StoredPayment>();
        foreach (var orphaned in await Adoptions.OrphanedAsync(""))
            adopted.AddRange(await Adoptions.AdoptAsync(
                new AdoptArgs(orphaned.Epoch, adopter, orphaned.LowWaterMark, 100)));
        Assert.Equal(expected.Order(), adopted.Select(row => row.CorrelationId).Order());
        return adopted;
    }

    // A process, because the processors come from its environment.
    private async Task<JsonElement> RestoredAsync() => (await RunAsync([])).ReadJson();

    private async Task<Verb> RunAsync(string[] options, params (string Name, string? Value)[] more)
    {
        var run = await ProgramRun.RunAsync(
            ["dotnet", Path.Combine(AppContext.BaseDirectory, "PaymentGateway.dll"), "restored", "--json", .. options],
            null,
            [
                ("DOTNET_ROLL_FORWARD", "Major"), ("ConnectionStrings__Ledger", Database.ConnectionString),
                ("Gateway__Storage__Profile", "Unlogged"),
                ("Gateway__Processors__Default__BaseUrl", "http://127.0.0.1:8001"),
                ("Gateway__Processors__Fallback__BaseUrl", "http://127.0.0.1:8002"), .. more,
            ]);
        return new Verb(run.ExitCode, run.Output.TrimEnd(), run.Errors.TrimEnd());
    }
}
