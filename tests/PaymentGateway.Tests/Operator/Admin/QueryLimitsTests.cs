using static PaymentGateway.Tests.Operator.Admin.PaymentViews;

namespace PaymentGateway.Tests.Operator.Admin;

public sealed class QueryLimitsTests() : OneGateway
{
    private const int Asked = 100;

    private readonly OwnServerDatabase _database = new();

    private protected override TestDatabase NewDatabase() => _database;

    [PostgresFact]
    public async Task While_the_database_is_unavailable_the_answer_is_503_and_doubts_are_told_when_it_is_back()
    {
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        var owner = await Rig.StartGatewayAsync("Settling:CallTimeout=1s", "Settling:InDoubtHorizon=1800s");
        var id = await owner.PayAsync();
        await Rig.Default.HoldsAsync(1);
        await Rig.Default.SetFailureAsync(true);
        await _database.Server.StopAsync();

        await AssertProblemAsync(Gateway.AskAsync($"payments/{id}"), HttpStatusCode.ServiceUnavailable, null);
        await AssertProblemAsync(Gateway.AskAsync("payments"), HttpStatusCode.ServiceUnavailable, null);

        await _database.StartAgainAsync();
        await AnswersAsync($"payments/{id}", "it answers again");
        await Gateway.BecomesAsync(id, "in_doubt");
    }

    // Each kind of query has permits of its own, so another kind is answered meanwhile.
    [PostgresTheory]
    [InlineData("payments?limit={0}", "doubts", "list_payments", 2, "payments-summary")]
    [InlineData("admin/actions?limit={0}", "operator_actions", "acted_at", 2, "payments")]
    [InlineData(
        "payments-summary?from=2025-07-15T12:00:00.{0:000}Z", "settlements", "settlement_totals", 4, "admin/actions")]
    public async Task Queries_over_their_limit_get_503_with_Retry_After(
        string path, string table, string statement, int inFlight, string other)
    {
        await using var stalled = await _database.HoldAsync($"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");

        var asked = Enumerable.Range(1, Asked)
            .Select(at => Gateway.AskAsync(string.Format(CultureInfo.InvariantCulture, path, at))).ToList();
        await Eventually.HoldsAsync(async () => await WaitingAsync(statement) >= inFlight, "statements wait");
        await Eventually.HoldsAsync(() => asked.Count(one => one.IsCompleted) >= Asked / 3, "callers are refused");

        // Others wait for a permit by now, or have waited in vain.
        Assert.Equal(inFlight, await WaitingAsync(statement));
        await AnswersAsync(other, "another kind is answered");
        await stalled.ExecuteAsync("ROLLBACK");
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

        Assert.InRange(overloaded, 1, Asked - inFlight - 60); // Sixty wait.
        // Statements of callers that were let go run first, so on a busy machine the next caller may be let go, too.
        await AnswersAsync(string.Format(CultureInfo.InvariantCulture, path, 1), "it answers again");
    }

    private Task AnswersAsync(string path, string what) => Eventually.HoldsAsync(
        async () =>
        {
            using var answer = await Gateway.AskAsync(path);
            return answer.IsSuccessStatusCode;
        },
        what);

    private Task<long> WaitingAsync(string statement) => _database.ScalarAsync<long>($"""
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%{statement}%'
        """);
}
