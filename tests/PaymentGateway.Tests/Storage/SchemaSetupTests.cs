namespace PaymentGateway.Tests.Storage;

public sealed class SchemaSetupTests() : OwnDatabase(new EmptyDurableDatabase())
{
    private const string Tables =
        "payments, settlements, settlement_totals, leases, processor_health, ledger, schema_version, operator_actions";

    [PostgresTheory]
    [InlineData("Unlogged", 3)]
    [InlineData("Durable", 0)]
    public async Task The_unlogged_profile_logs_what_must_outlive_a_crash_and_the_durable_one_everything(
        string profile, long unlogged)
    {
        await Setup(profile).EnsureAsync();
        await Setup(profile).EnsureAsync();

        Assert.Equal(unlogged, await CountTablesAsync("relpersistence = 'u'"));
        Assert.Equal(8 - unlogged, await CountTablesAsync("relpersistence = 'p'"));
        Assert.Equal(5, await CountTablesAsync("""
            relpersistence = 'p'
            AND relname IN ('leases', 'processor_health', 'ledger', 'schema_version', 'operator_actions')
            """));
    }

    [PostgresTheory]
    [InlineData("Unlogged", "Durable", null)]
    [InlineData("Durable", "Unlogged", null)]
    [InlineData("Unlogged", "Unlogged", "settlements SET LOGGED")]
    [InlineData("Durable", "Durable", "settlement_totals SET UNLOGGED")]
    [InlineData("Durable", "Durable", "leases SET UNLOGGED")]
    [InlineData("Durable", "Durable", "operator_actions SET UNLOGGED")]
    public async Task Tables_of_the_other_profile_all_or_some_are_a_wrong_setting(
        string made, string asked, string? change)
    {
        await Setup(made).EnsureAsync();
        if (change is not null)
            await Database.ExecuteAsync($"ALTER TABLE {change}");

        await RefusedAsync($"Gateway__Storage__Profile: is {asked}", asked);

        if (change is null)
            await Setup(made).EnsureAsync();
    }

    [PostgresTheory]
    [InlineData("fsync")]
    [InlineData("full_page_writes")]
    public async Task The_durable_profile_on_a_server_that_may_lose_commits_is_a_wrong_setting(string setting)
    {
        await SetAsync($"SET {setting} = off", setting, "off");
        try
        {
            await IsRefusedAsync();
            Assert.True(await Database.ScalarAsync<bool>("SELECT to_regclass('payments') IS NULL"));
            await Setup("Unlogged").EnsureAsync();
            await IsRefusedAsync();
        }
        finally
        {
            await SetAsync($"RESET {setting}", setting, "on");
        }

        async Task IsRefusedAsync() => Assert.Contains(
            $"{setting}=off", await RefusedAsync("Gateway__Storage__Profile: is Durable", "Durable"),
            StringComparison.Ordinal);
    }

    [PostgresTheory]
    [InlineData("schema_version")]
    [InlineData("schema_version, settlements, leases, ledger")]
    [InlineData("payments, settlements, settlement_totals, doubts, leases, processor_health, ledger, ledger_intact, "
        + "instance_readings, operator_actions, processors, payment_events, webhooks, open_epochs, payers")]
    public async Task Tables_without_their_versions_and_versions_without_tables_are_a_wrong_setting(string lost)
    {
        await Setup().EnsureAsync();
        await Database.ExecuteAsync($"DROP TABLE {lost}");
        var tables = await CatalogOf.Async(Database);

        await RefusedAsync("ConnectionStrings__Ledger: names tables", "Unlogged");

        Assert.Equal(tables, await CatalogOf.Async(Database));
    }

    private SchemaSetup Setup(string profile = "Unlogged") => Database.Schema(durable: profile == "Durable");

    private async Task<string> RefusedAsync(string why, string profile)
    {
        var wrong = await Assert.ThrowsAsync<ConfigurationException>(() => Setup(profile).EnsureAsync());

        Assert.StartsWith(why, wrong.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', wrong.Message);
        return wrong.Message;
    }

    // Of the whole server, which no other class uses; a connection hears of it at its next statement.
    private async Task SetAsync(string change, string setting, string expected)
    {
        await Database.ExecuteAsync($"ALTER SYSTEM {change}");
        await Database.ExecuteAsync("SELECT pg_reload_conf()");
        await Eventually.HoldsAsync(
            async () => await Database.ScalarAsync<string>($"SELECT current_setting('{setting}')") == expected,
            $"{setting} is {expected}");
    }

    private Task<long> CountTablesAsync(string condition) => Database.ScalarAsync<long>(
        $"SELECT count(*) FROM pg_class WHERE oid = ANY('{{{Tables}}}'::regclass[]) AND {condition}");
}
