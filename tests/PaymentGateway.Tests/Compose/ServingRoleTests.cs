using PaymentGateway.Tests.Cli;
using PaymentGateway.Tests.EndToEnd;

namespace PaymentGateway.Tests.Compose;

/// <summary>The role of postgres/roles.sql that serves payments writes rows, and changes no table.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class ServingRoleTests : IAsyncLifetime
{
    private const string Ledger = "ConnectionStrings__Ledger";

    private PostgresServer _server = null!;

    public async Task InitializeAsync()
    {
        if (!PostgresServer.IsInstalled)
            return;

        _server = await PostgresServer.StartAsync(durable: true);
        // As a managed server has it, which makes nobody else superuser.
        await _server.ExecuteAsync("CREATE ROLE administrator LOGIN CREATEDB CREATEROLE");
        // psql runs the file, as in the image's start script, because only psql can change the database.
        var made = await ProgramRun.RunAsync(
            [
                Path.Combine(PostgresServer.Binaries!, "psql"), "-h", _server.Directory, "-U", "administrator", "-d",
                "postgres", "-v", "ON_ERROR_STOP=1", "-f", Repository.PathOf("postgres", "roles.sql"),
            ]);
        Assert.True(made.ExitCode == 0, made.Errors);
    }

    public async Task DisposeAsync()
    {
        if (_server is not null)
            await _server.DisposeAsync();
    }

    [PostgresFact]
    public async Task The_serving_role_can_neither_make_nor_change_nor_drop_a_table()
    {
        Assert.Equal(0, (await MigrateAsync("migrate")).ExitCode);
        await using var serving = NpgsqlDataSource.Create($"{AddressOf("api1")};Multiplexing=false");

        foreach (var statement in new[]
        {
            "CREATE TABLE proof (id integer)", "CREATE TEMPORARY TABLE proof (id integer)", "CREATE SCHEMA proof",
            "CREATE INDEX ON payments (amount_cents)", "ALTER TABLE payments ADD proof integer",
            "ALTER TABLE payments OWNER TO gateway", "DROP TABLE payments", "SET ROLE gateway_owner",
        })
        {
            await using var command = serving.CreateCommand(statement);
            var refused = await Assert.ThrowsAsync<PostgresException>(() => command.ExecuteNonQueryAsync());
            Assert.Equal((statement, PostgresErrorCodes.InsufficientPrivilege), (statement, refused.SqlState));
        }
    }

    [GatewaySystemFact]
    public async Task The_gateway_pays_and_purges_as_the_serving_role()
    {
        Assert.Equal(0, (await MigrateAsync("migrate")).ExitCode);
        await using var system = await GatewaySystem.UpAsync(("LEDGER", AddressOf("api1")), ("PROFILE", "durable"));
        var ledger = new LoadLedger();

        await LoadDriver.RunClientsAsync(system.Client, ledger, clients: 4, payments: 100, TimeSpan.Zero);
        await LedgerCheck.AgreesAsync(system, ledger);
        await system.ResetAsync();

        ledger.NoClientSawAnError();
        Assert.Equal(0, await system.Database.CountAsync("payments"));
        Assert.DoesNotContain("permission denied", system.ReadLog(GatewaySystem.First), StringComparison.Ordinal);
    }

    [PostgresFact]
    public async Task Tables_of_an_earlier_version_stop_the_serving_role_with_the_verb_that_brings_them_up() =>
        (await MigrateAsync("api1")).AssertFailed(
            78, $"{Ledger}: names a role that may not bring the tables to version 1: run `PaymentGateway migrate`");

    // Runs the verb with the connection of that service.
    private Task<Verb> MigrateAsync(string service) =>
        Verb.RunAsync("migrate", "--ledger", AddressOf(service), "--profile", "durable");

    private string AddressOf(string service) =>
        new NpgsqlConnectionStringBuilder(ComposeFileTests.LedgerOfDurable(service))
        {
            Host = _server.Directory,
        }.ConnectionString;
}
