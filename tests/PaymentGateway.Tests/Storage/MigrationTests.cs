namespace PaymentGateway.Tests.Storage;

public sealed class MigrationTests() : OwnDatabase(new EmptyTestDatabase())
{
    private static readonly Regex Insert = new(@"INSERT INTO \w+");
    private static readonly Regex InsertOfColumns = new(@"INSERT INTO \w+( AS \w+)?\s*\(\w+(,\s+\w+)*\)");
    // A subquery's columns are named in it.
    private static readonly Regex AllColumns = new(
        @"RETURNING (\w+\.)?\*|SELECT (\w+\.)?\* FROM (payments|settlements|settlement_totals|leases)\b");

    // Released files: an edit of one, of a comment too, stops each of its ledgers with exit 78. A later file joins them
    // when it is released.
    private static readonly string[] Applied = ["50CBD1CDF4F5788567CBEB3E54508356"];

    private static readonly Migration Later = new(Migration.All.Count + 1, "later", """
        ALTER TABLE payments ADD COLUMN later integer;

        ALTER TABLE settlements ADD COLUMN later integer;
        """);

    [Fact]
    public void A_file_that_ledgers_have_applied_never_changes() => Assert.Equal(
        Applied, Migration.All.Take(Applied.Length).Select(migration => migration.Checksum));

    [Fact]
    public void Versions_count_from_1_without_a_gap() =>
        Assert.Equal(Enumerable.Range(1, Migration.All.Count), Migration.All.Select(migration => migration.Version));

    // INSERT INTO payments VALUES would fail, and SELECT * would see another row, as soon as there is another column.
    [Fact]
    public void Every_statement_names_its_columns()
    {
        var sources = Directory.GetFiles(
            Repository.PathOf("src", "PaymentGateway"), "*.cs", SearchOption.AllDirectories).Select(File.ReadAllText);
        var statements = string.Concat(sources);

        Assert.Equal(Insert.Count(statements), InsertOfColumns.Count(statements));
        Assert.InRange(Insert.Count(statements), 7, int.MaxValue);
        Assert.DoesNotMatch(AllColumns, statements);
    }

    [PostgresFact]
    public async Task Instances_that_start_at_once_apply_each_migration_once()
    {
        var applied = await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => Database.Schema().EnsureAsync()));

        Assert.Equal(Migration.All, applied.SelectMany(migrations => migrations).OrderBy(one => one.Version));
        Assert.Equal(Migration.All.Count, await Database.ScalarAsync<long>("SELECT count(*) FROM schema_version"));
        Assert.Equal(1, await Database.ScalarAsync<long>("SELECT count(*) FROM ledger"));
        Assert.Equal(2, await Database.ScalarAsync<long>("SELECT count(*) FROM processor_health"));
    }

    [PostgresFact]
    public async Task A_later_version_is_applied_to_a_ledger_in_use_and_stops_the_next_start_of_the_earlier_binary()
    {
        await Database.Schema().EnsureAsync();
        var stored = await Database.StoreAsync(await Database.OpenEpochAsync(), 3);

        Assert.Equal([Later], await Database.Schema(later: Later).EnsureAsync());

        Assert.Empty(await Database.Schema(later: Later).EnsureAsync());
        Assert.Equal(
            stored.Ids, (await Database.Payments.FindAsync(stored.Ids)).Select(row => row.CorrelationId).Order());
        var wrong = await Assert.ThrowsAsync<ConfigurationException>(() => Database.Schema().EnsureAsync());
        Assert.Contains($"of version {Later.Version}, and this binary knows", wrong.Message, StringComparison.Ordinal);
    }

    [PostgresTheory]
    [InlineData("INSERT INTO schema_version (version, name, checksum) VALUES (900, '', '')", "of version 900, and")]
    [InlineData("UPDATE schema_version SET checksum = 'another' WHERE version = 1", "version 1 is not the ledger of")]
    public async Task Tables_of_a_version_that_this_binary_does_not_know_are_a_wrong_setting(string change, string why)
    {
        await Database.Schema().EnsureAsync();
        await Database.ExecuteAsync(change);

        var wrong = await Assert.ThrowsAsync<ConfigurationException>(() => Database.Schema().EnsureAsync());

        Assert.StartsWith("ConnectionStrings__Ledger: names tables", wrong.Message, StringComparison.Ordinal);
        Assert.Contains(why, wrong.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', wrong.Message);
    }

    [PostgresFact]
    public async Task Tables_of_the_other_profile_are_refused_before_they_are_changed()
    {
        await Database.Schema().EnsureAsync();
        await Database.ExecuteAsync("ALTER TABLE payments SET LOGGED");
        var tables = await CatalogOf.Async(Database);

        await Assert.ThrowsAsync<ConfigurationException>(() => Database.Schema(later: Later).EnsureAsync());

        Assert.Equal(tables, await CatalogOf.Async(Database));
        Assert.Equal(Migration.All.Count, await Database.ScalarAsync<long>("SELECT count(*) FROM schema_version"));
    }

    // Its first half is done then, and the second one waits for a long statement of an instance.
    [PostgresTheory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_migration_that_waits_too_long_or_is_killed_half_way_leaves_nothing_and_goes_through_later(
        bool isKilled)
    {
        await Database.Schema().EnsureAsync();
        await using (await Database.HoldAsync("LOCK TABLE settlements IN ACCESS SHARE MODE"))
        {
            var migrating = Database.Schema(later: Later).EnsureAsync();
            if (isKilled)
                await Eventually.HoldsAsync(
                    () => Database.ScalarAsync<bool>("""
                        SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity
                        WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE settlements%'
                          AND datname = current_database()
                        """),
                    "it was killed");

            var failed = await Assert.ThrowsAnyAsync<NpgsqlException>(() => migrating);
            if (!isKilled)
                Assert.Equal(PostgresErrorCodes.LockNotAvailable, failed.SqlState);
            Assert.Equal(
                Migration.All.Count, await Database.ScalarAsync<int>("SELECT max(version) FROM schema_version"));
            Assert.DoesNotContain(await CatalogOf.Async(Database), line => line.Contains("later"));
        }

        Assert.Equal([Later], await Database.Schema(later: Later).EnsureAsync());
    }
}
