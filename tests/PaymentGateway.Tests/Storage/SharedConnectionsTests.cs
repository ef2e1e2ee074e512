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
