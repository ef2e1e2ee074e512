namespace PaymentGateway.Tests.Storage;

public sealed class SharedConnectionsTests(OwnServerDatabase database) : IClassFixture<OwnServerDatabase>
{
    private const string Ask = "SELECT 42";

    // Npgsql's own limits are longer, so that only ours can end the wait.
    private const string OwnLimits = ";Command Timeout=600;Timeout=600;Cancellation Timeout=600000";

    [PostgresTheory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_caller_times_out_while_the_server_is_frozen_and_is_served_when_it_runs_again(bool multiplexing)
    {
        var pool = LedgerSetup.DataSource($"{database.ConnectionString};Multiplexing={multiplexing}{OwnLimits}");
        await using var connections = new SharedConnections(pool, TimeSpan.FromMilliseconds(300), TimeProvider.System);
        await Eventually.HoldsAsync(() => AnswersAsync(connections), "it answers at first");

        database.Server.Freeze();
        try
        {
            for (var caller = 0; caller < 3; caller++)
                await Assert.ThrowsAsync<TimeoutException>(() => connections.RunAsync(AskAsync));
        }
        finally
        {
            database.Server.Thaw();
        }

        await Eventually.HoldsAsync(() => AnswersAsync(connections), "it answers again");
    }

    // 2 of 3,600 queries just after a stop of the server end so, too few to wait for one here.
    [PostgresFact]
    public async Task A_connection_that_breaks_inside_Npgsql_is_a_failure_of_the_database()
    {
        var pool = LedgerSetup.DataSource(database.ConnectionString);
        await using var connections = LedgerSetup.Shared(pool, TimeProvider.System);

        await Assert.ThrowsAsync<NpgsqlException>(
            () => connections.RunAsync(_ => Task.FromResult(NothingThere().Length)));
    }

    [Fact]
    public async Task A_server_whose_name_has_no_address_is_a_failure_of_the_database()
    {
        var pool = LedgerSetup.DataSource("Host=ledger.invalid;Username=gateway;Database=ledger");
        await using var connections = LedgerSetup.Shared(pool, TimeProvider.System);

        await Assert.ThrowsAsync<NpgsqlException>(() => connections.RunAsync(AskAsync));
    }

    private static string NothingThere() => null!;

    private static async Task<bool> AnswersAsync(SharedConnections connections)
    {
        try
        {
            return await connections.RunAsync(AskAsync) == 42;
        }
        catch (TimeoutException)
        {
            return false;
        }
    }

    private static async Task<int> AskAsync(NpgsqlConnection connection)
    {
        await connection.OpenAsync();
        return await connection.ScalarAsync<int>(Ask);
    }
}
