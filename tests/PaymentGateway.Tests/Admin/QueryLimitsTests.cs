using static PaymentGateway.Tests.Admin.PaymentViews;

namespace PaymentGateway.Tests.Admin;

/// <summary>More who ask than PostgreSQL answers, and a PostgreSQL that is unavailable.</summary>
public sealed class QueryLimitsTests : IAsyncLifetime
{
    private const int Asked = 100;

    private readonly OwnServerDatabase _database = new();
    private GatewayRig _rig = null!;
    private GatewayHost _gateway = null!;

    public async Task InitializeAsync()
    {
        _rig = await GatewayRig.StartAsync(_database);
        _gateway = await _rig.StartGatewayAsync();
    }

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [PostgresFact]
    public async Task While_the_database_is_unavailable_the_answer_is_503_and_doubts_are_told_when_it_is_back()
    {
        await _rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        var owner = await _rig.StartGatewayAsync("Settling:CallTimeout=1s", "Settling:InDoubtHorizon=1800s");
        var id = await owner.PayAsync();
        await _rig.Default.HoldsAsync(1);
        await _rig.Default.SetFailureAsync(true);
        await _database.Server.StopAsync();

        await AssertProblemAsync(_gateway.AskAsync($"payments/{id}"), HttpStatusCode.ServiceUnavailable, null);
        await AssertProblemAsync(_gateway.AskAsync("payments"), HttpStatusCode.ServiceUnavailable, null);

        await _database.StartAgainAsync();
        await Eventually.HoldsAsync(async () => await ShowsAsync(id), "it answers again");
        await _gateway.BecomesAsync(id, "in_doubt");
    }

    [PostgresFact]
    public async Task Two_are_asked_for_at_a_time_and_callers_over_the_limit_get_503_with_Retry_After()
    {
        var id = await _gateway.PayAsync();
        await _rig.LedgersReachAsync(byDefault: 1);
        await using var stalled = await StallAsync("doubts");

        var asked = Enumerable.Range(0, Asked)
            .Select(at => _gateway.AskAsync(at % 2 == 0 ? "payments" : $"payments/{id}")).ToList();
        await Eventually.HoldsAsync(async () => await WaitingAsync() >= 2, "two statements wait");
        await Eventually.HoldsAsync(() => asked.Count(one => one.IsCompleted) >= Asked / 3, "callers are refused");

        // Others wait for a permit by now, or have waited in vain.
        Assert.Equal(2, await WaitingAsync());
        await stalled.RollbackAsync();
        var overloaded = 0;
        foreach (var answer in await Task.WhenAll(asked))
        {
            using (answer)
                if ((await answer.Content.ReadAsStringAsync()).Contains(":overloaded", StringComparison.Ordinal))
                {
                    overloaded++;
                    Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
                    Assert.Equal(TimeSpan.FromSeconds(1), answer.Headers.RetryAfter?.Delta);
                }
        }

        Assert.InRange(overloaded, 1, Asked - 62); // Two are asked for, and sixty wait.
        Assert.Equal("settled", (await _gateway.ShowAsync(id)).Text("state"));
    }

    [PostgresFact]
    public async Task Lists_of_parked_payments_have_the_same_limit_and_permits_of_their_own()
    {
        var id = await _gateway.PayAsync();
        await _rig.LedgersReachAsync(byDefault: 1);
        await using var stalled = await StallAsync("payments");

        var asked = Enumerable.Range(0, Asked).Select(_ => _gateway.AskAsync("admin/parked")).ToList();
        await Eventually.HoldsAsync(async () => await WaitingAsync() >= 2, "two statements wait");
        Assert.Equal(2, await WaitingAsync());
        using (var refused = await await Task.WhenAny(asked))
        {
            Assert.Equal(HttpStatusCode.ServiceUnavailable, refused.StatusCode);
            Assert.Equal(TimeSpan.FromSeconds(1), refused.Headers.RetryAfter?.Delta);
        }

        var shown = _gateway.AskAsync($"payments/{id}");
        await Eventually.HoldsAsync(async () => await WaitingAsync() == 3, "another query is asked beside them");
        await stalled.RollbackAsync();
        // It may have waited in vain where the machine is slow, and was not refused.
        using (var answer = await shown)
            Assert.DoesNotContain(":overloaded", await answer.Content.ReadAsStringAsync(), StringComparison.Ordinal);
        Assert.Equal("settled", (await _gateway.ShowAsync(id)).Text("state"));
        foreach (var answer in await Task.WhenAll(asked))
            answer.Dispose();
        Assert.Equal("[]", await _gateway.GetAsync("admin/parked"));
    }

    private async Task<bool> ShowsAsync(Guid id)
    {
        using var answer = await _gateway.AskAsync($"payments/{id}");
        return answer.IsSuccessStatusCode;
    }

    // Of the tables that payments are read from, nothing else waits for «doubts» here.
    private async Task<NpgsqlTransaction> StallAsync(string table)
    {
        var connection = await _database.Source.OpenConnectionAsync();
        var transaction = await connection.BeginTransactionAsync();
        await using var command = new NpgsqlCommand($"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE", connection);
        await command.ExecuteNonQueryAsync();
        return transaction;
    }

    private Task<long> WaitingAsync() => _database.ScalarAsync<long>("""
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%parked_reason%'
        """);
}
