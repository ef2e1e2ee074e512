namespace PaymentGateway.Tests.Storage;

/// <summary>Settings that statements rely on, on a server, a database or a role that has others.</summary>
public sealed class ConnectionSettingsTests() : OwnDatabase(new LocalTestDatabase())
{
    [PostgresTheory]
    [InlineData("jit", "on", "off")]
    [InlineData("standard_conforming_strings", "off", "on")]
    [InlineData("default_transaction_isolation", "serializable", "read committed")]
    [InlineData("client_min_messages", "error", "warning")]
    [InlineData("idle_session_timeout", "3s", "0")]
    [InlineData("idle_in_transaction_session_timeout", "0", "30s")]
    public async Task A_connection_has_its_own_settings_whatever_the_server_says(
        string setting, string others, string expected)
    {
        var database = await Database.ScalarAsync<string>("SELECT current_database()::text");
        await Database.ExecuteAsync($"ALTER DATABASE {database} SET {setting} = '{others}'");

        foreach (var multiplexing in new[] { true, false })
        {
            await using var source = LedgerSetup.DataSource($"{Database.ConnectionString};Multiplexing={multiplexing}");
            await using var shown = source.CreateCommand($"SHOW {setting}");
            Assert.Equal(expected, await shown.ExecuteScalarAsync());
        }
    }

    [PostgresTheory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_pooler_that_refuses_or_drops_the_settings_of_a_connection_is_a_wrong_setting(bool drops)
    {
        await using var pooler = new Pooler(Database.Server.Directory, drops);
        await using var source = LedgerSetup.DataSource(
            Database.ConnectionString.Replace(Database.Server.Directory, pooler.Host, StringComparison.Ordinal));
        var setup = new SchemaSetup(
            LedgerSetup.Shared(source, TimeProvider.System), Migration.All, durable: false,
            NullLogger<SchemaSetup>.Instance);

        var wrong = await Assert.ThrowsAsync<ConfigurationException>(setup.EnsureAsync);

        Assert.StartsWith(
            "ConnectionStrings__Ledger: names a pooler, such as PgBouncer", wrong.Message, StringComparison.Ordinal);
    }
}
