namespace PaymentGateway.Tests.Summarising;

/// <summary>More summaries than PostgreSQL answers, at a whole gateway.</summary>
public sealed class SummaryFloodTests : OneGateway
{
    private const int Asked = 200;

    // Four are asked for, and sixty wait.
    private const int Taken = 64;

    [PostgresFact]
    public async Task Four_windows_are_queried_at_a_time_and_callers_over_the_limit_get_503_with_Retry_After()
    {
        await using var stalled = await Rig.Database.HoldAsync("LOCK TABLE settlements IN ACCESS EXCLUSIVE MODE");

        var asked = Enumerable.Range(0, Asked)
            .Select(at => Gateway.AskAsync($"payments-summary?from=2025-07-15T12:00:00.{at:000}Z")).ToList();
        await Eventually.HoldsAsync(async () => await WaitingAsync() >= 4, "four statements wait");
        await Eventually.HoldsAsync(() => asked.Count(one => one.IsCompleted) > Taken, "callers are refused");

        // Those that were taken wait for the table or a permit by now, or have waited in vain.
        Assert.Equal(4, await WaitingAsync());
        await stalled.ExecuteAsync("ROLLBACK");
        var overloaded = 0;
        foreach (var answer in await Task.WhenAll(asked))
            using (answer)
                if (await IsOverloadedAsync(answer))
                    overloaded++;

        Assert.InRange(overloaded, 1, Asked - Taken);
        Assert.Contains("totalRequests", await Gateway.GetAsync("payments-summary"));
    }

    private static async Task<bool> IsOverloadedAsync(HttpResponseMessage answer)
    {
        Assert.Contains(answer.StatusCode, new[] { HttpStatusCode.OK, HttpStatusCode.ServiceUnavailable });
        var text = await answer.Content.ReadAsStringAsync();
        if (!text.Contains("urn:problem:payment-gateway:overloaded", StringComparison.Ordinal))
            return false;

        Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
        Assert.Equal("application/problem+json", answer.Content.Headers.ContentType?.MediaType);
        Assert.Equal(TimeSpan.FromSeconds(1), answer.Headers.RetryAfter?.Delta);
        return true;
    }

    private Task<long> WaitingAsync() => Rig.Database.ScalarAsync<long>("""
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%settlement_totals%'
        """);
}
