namespace PaymentGateway.Tests.Storage;

public sealed class MigrationTests() : OwnDatabase(new EmptyTestDatabase())
{
    private static readonly Regex Insert = new(@"INSERT INTO \w+");
    private static readonly Regex InsertOfColumns = new(@"INSERT INTO \w+( AS \w+)?\s*\(\w+(,\s+\w+)*\)");
    // A subquery's columns are named in it.
    private static readonly Regex AllColumns = new(
        @"RETURNING (\w+\.)?\*|SELECT (\w+\.)?\* FROM (payments|settlements|settlement_totals|leases)\b");

    private const string Content = """
        SELECT md5(string_agg(line, ',' ORDER BY line)) FROM (
            SELECT (correlation_id, amount_cents, accepted_at, owner_epoch, handover, parked_reason)::text AS line
            FROM payments
            UNION ALL SELECT (correlation_id, accepted_at, processor, amount_cents, requested_at)::text FROM settlements
            UNION ALL SELECT settlement_totals::text FROM settlement_totals
            UNION ALL SELECT (epoch, instance, expires_at, low_water_mark, refused_until, renewal, closed_at,
                              adopted_at, used_fallback)::text FROM leases
            UNION ALL SELECT (id, generation, resets, reset_at)::text FROM ledger
        ) AS lines
        """;

    // The checksums of 0001 to 0013, which ledgers have applied: an edit, of a comment too, stops each of these with
    // exit 78. A later file joins them when it is published.
    private static readonly string[] Applied =
    [
        "E23DCA1D78A9B4E709C589083EE42639", "3CE87005A30F7EF55B73B6BCA969F4A8",
        "132788C5DFB0AD1911D31E93EA84DDCD", "7C3F91F51A267887C07141DED73A3BD9",
        "D85B3A0CAD8054A2782769226A63877B", "5823223AC65CB46B37B0B5233AC5C17E",
        "E11EA94F098778EE1AA292431179CDC6", "2C85F83F162839A7B6E8D4EA4022CFD1",
        "5AAC349445C3255EDDBD0D2BE35F4FC9", "399FB5C2392D0043A562E73A941158B4",
        "9D5330CE010B48ADB471779A99D356C9", "718B87A959CD5BD525C2BAFF11D14FB9",
        "4FCC3F484990FF8D3EB108D1F99DD428",
    ];

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
    public async Task Tables_of_version_1_keep_what_is_in_them_and_end_like_new_ones()
    {
        await using var made = new Disposing(new TestDatabase());
        await made.Made.InitializeAsync();
        await VersionOne.CreateAsync(Database);
        var content = await Database.ScalarAsync<string>(Content);

        var applied = await Database.Schema().EnsureAsync();

        Assert.Equal(Migration.All.Skip(1), applied);
        Assert.Equal(content, await Database.ScalarAsync<string>(Content));
        Assert.True(await Database.ScalarAsync<bool>(
            "SELECT began_at = (SELECT min(requested_at) FROM settlements) FROM ledger"));
        Assert.Equal(await CatalogOf.Async(made.Made), await CatalogOf.Async(Database));
        Assert.Empty(await Database.Schema().EnsureAsync());
    }

    [PostgresTheory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Instances_that_start_at_once_apply_each_migration_once(bool onVersionOne)
    {
        if (onVersionOne)
            await VersionOne.CreateAsync(Database);

        var applied = await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => Database.Schema().EnsureAsync()));

        Assert.Equal(
            Migration.All.Skip(onVersionOne ? 1 : 0),
            applied.SelectMany(migrations => migrations).OrderBy(one => one.Version));
        Assert.Equal(Migration.All.Count, await Database.ScalarAsync<long>("SELECT count(*) FROM schema_version"));
        Assert.Equal(1, await Database.ScalarAsync<long>("SELECT count(*) FROM ledger"));
        Assert.Equal(2, await Database.ScalarAsync<long>("SELECT count(*) FROM processor_health"));
    }

    [PostgresTheory]
    [InlineData("INSERT INTO schema_version (version, name, checksum) VALUES (900, '', '')", "of version 900, and")]
    [InlineData("UPDATE schema_version SET checksum = 'another' WHERE version = 1", "version 1 is not the ledger of")]
    [InlineData("UPDATE schema_version SET checksum = '' WHERE version = 2", "version 2 is not the payment-queries")]
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
        await VersionOne.CreateAsync(Database, durable: true);
        var tables = await CatalogOf.Async(Database);

        await Assert.ThrowsAsync<ConfigurationException>(() => Database.Schema().EnsureAsync());

        Assert.Equal(tables, await CatalogOf.Async(Database));
        Assert.Equal(1, await Database.ScalarAsync<long>("SELECT count(*) FROM schema_version"));
    }

    // Its first half is done then, and the second one waits for a long statement of an earlier version.
    [PostgresTheory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_migration_that_waits_too_long_or_is_killed_half_way_leaves_nothing_and_goes_through_later(
        bool isKilled)
    {
        await VersionOne.CreateAsync(Database);
        await using (await Database.HoldAsync("LOCK TABLE settlements IN ACCESS SHARE MODE"))
        {
            var migrating = Database.Schema().EnsureAsync();
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
            Assert.Equal(1, await Database.ScalarAsync<int>("SELECT max(version) FROM schema_version"));
            Assert.DoesNotContain(await CatalogOf.Async(Database), line => line.Contains("attempts"));
        }

        Assert.Equal([Migration.All[1]], (await Database.Schema().EnsureAsync()).Take(1));
    }

    [PostgresFact]
    public async Task Statements_of_version_1_go_on_over_each_migration_and_notice_one_that_breaks_them()
    {
        await VersionOne.CreateAsync(Database);
        await using var earlier = await VersionOneInstance.StartAsync(Database.ConnectionString);
        await earlier.GoesOnAsync();

        await Database.Schema().EnsureAsync();
        await earlier.GoesOnAsync();
        await Database.ExecuteAsync(
            "ALTER TABLE settlements ADD CONSTRAINT breaks CHECK (attempts IS NOT NULL) NOT VALID");

        var broken = await Assert.ThrowsAsync<PostgresException>(earlier.GoesOnAsync);
        Assert.Equal(PostgresErrorCodes.CheckViolation, broken.SqlState);
    }

    // Its renewal reads watching and its page uses instance_readings: without them it would lose its lease beside an
    // instance of this version.
    [PostgresFact]
    public async Task Tables_that_version_4_names_are_kept_for_a_rolling_upgrade()
    {
        await Database.Schema().EnsureAsync();

        await Database.ExecuteAsync("SELECT watched_until FROM watching WHERE id = 1");
        await Database.ExecuteAsync("SELECT epoch, instance, reading, read_at FROM instance_readings");
    }

    private sealed class Disposing(TestDatabase made) : IAsyncDisposable
    {
        public TestDatabase Made => made;

        public ValueTask DisposeAsync() => new(made.DisposeAsync());
    }
}
