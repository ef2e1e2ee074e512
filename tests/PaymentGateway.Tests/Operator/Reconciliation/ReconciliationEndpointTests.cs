using PaymentGateway.Tests.Cli;

namespace PaymentGateway.Tests.Operator.Reconciliation;

public sealed class ReconciliationEndpointTests : PlantedGateway
{
    // Gateway has the tokens, and nobody asks it.
    [PostgresFact]
    public async Task No_call_of_an_administrator_is_made_without_the_tokens_nor_before_an_operator_asks()
    {
        var gateway = await Rig.StartGatewayAsync();
        await gateway.PayAsync();
        await Gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 2);

        var verb = await Verb.RunAsync("reconcile", "--repair", "--url", gateway.Url);

        await AssertRefusedAsync(gateway, "", 403, "reconciliation-off", null);
        using var refused = await gateway.PostAsync(ReconciliationRuns.Path);
        Assert.Empty(OpenApiDocument.Present["reconcile"].FaultsOf(await ReadAnswer.OfAsync(refused)));
        verb.AssertFailed(78, "Gateway__Processors__default__AdminToken");
        Assert.Equal(
            (0, 0), ((await Rig.Default.CallsAsync()).Summaries, (await Rig.Fallback.CallsAsync()).Summaries));
    }

    [PostgresTheory]
    [InlineData("?form=2025-07-15T12:00Z", "invalid-query", "form")]
    [InlineData("?from=noon", "invalid-query", "from")]
    [InlineData("?repair=yes", "invalid-query", "repair")]
    [InlineData("?repair=true&repair=true", "invalid-query", "repair")]
    [InlineData("?from=2025-07-15T12:00Z&to=2025-07-15T11:59Z", "invalid-window", "from")]
    [InlineData("?to=2999-01-01", "invalid-window", "to")]
    [InlineData("?from=2999-01-01", "invalid-window", "from")]
    public Task A_window_that_is_open_or_malformed_is_refused(string query, string type, string field) =>
        AssertRefusedAsync(Gateway, query, 400, type, field);

    [PostgresFact]
    public async Task One_runs_at_a_time_over_all_instances()
    {
        await using var other = await Rig.Database.HoldAsync("SELECT pg_advisory_lock(72616967)");

        await AssertRefusedAsync(Gateway, "", 409, "reconciliation-running", null);
        (await Verb.RunAsync("reconcile", "--url", Gateway.Url)).AssertFailed(69, "Another reconciliation");
    }

    [PostgresFact]
    public async Task A_processor_that_refuses_its_token_is_named()
    {
        await PlantAsync(4);
        var refused = await Rig.StartGatewayAsync(
            [.. ReconciliationRuns.Settings, "Processors:Fallback:AdminToken=wrong"]);
        await AssertRefusedAsync(refused, "", 403, "processor-token-wrong", null);
        (await Verb.RunAsync("reconcile", "--url", refused.Url))
            .AssertFailed(78, "Gateway__Processors__fallback__AdminToken");
    }

    [PostgresTheory]
    [InlineData(true, 0)]
    [InlineData(false, 200)]
    public async Task A_purge_or_a_crash_that_empties_the_ledger_stops_it_and_nothing_is_repaired(
        bool isPurge, int settled)
    {
        await PlantDifferencesAsync();

        var verb = await Held.MeanwhileAsync(
            () => Verb.RunAsync("reconcile", "--repair", "--json", "--url", Gateway.Url),
            async () =>
            {
                if (isPurge)
                    Assert.Equal(HttpStatusCode.OK, await Gateway.PurgeAsync());
                else
                    await Rig.Database.ExecuteAsync("UPDATE ledger SET resets = resets + 1, reset_at = now()");
            });
        var report = verb.ReadJson();

        Assert.Equal((69, "stopped"), (verb.ExitCode, report.Text("outcome")));
        Assert.True(report.GetProperty("truncated").GetBoolean());
        Assert.Contains("purged, or emptied by a crash", report.Text("stopped"), StringComparison.Ordinal);
        Assert.Empty(report.Differences());
        Assert.Equal(settled, await Rig.CountSettledAsync());
    }

    [PostgresFact]
    public async Task What_is_recorded_before_it_is_asked_for_again_is_no_difference()
    {
        await PlantDifferencesAsync();

        var report = await Held.MeanwhileAsync(() => Gateway.ReconcileAsync(), async () =>
        {
            foreach (var held in (await Rig.Default.PaymentsAsync()).Values)
                await Rig.Database.ExecuteAsync(
                    "INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at) "
                    + $"SELECT correlation_id, accepted_at, 1, amount_cents, '{held.RequestedAt:o}' FROM payments "
                    + $"WHERE correlation_id = '{held.CorrelationId}' ON CONFLICT DO NOTHING");
        });

        Assert.Equal("agrees", report.Text("outcome"));
    }

    [PostgresFact]
    public async Task An_instance_that_stops_ends_it_and_says_so()
    {
        await PlantDifferencesAsync();

        var stopped = await Held.MeanwhileAsync(
            () => Verb.RunAsync("reconcile", "--url", Gateway.Url), () => Rig.StopGatewayAsync(Gateway));

        Assert.Equal(69, stopped.ExitCode);
        Assert.Contains("The instance stops", stopped.Error, StringComparison.Ordinal);
    }

    [PostgresFact]
    public async Task Who_hangs_up_ends_it_and_frees_the_lock()
    {
        await PlantDifferencesAsync();
        using var client = UnixHttp.To(Gateway.Socket);
        using var leaving = new CancellationTokenSource();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Held.MeanwhileAsync(
            () => client.PostAsync(ReconciliationRuns.Path + "?repair=true", null, leaving.Token),
            async () =>
            {
                await leaving.CancelAsync();
                await Eventually.HoldsAsync(
                    async () =>
                    {
                        using var answer = await Gateway.PostAsync(
                            ReconciliationRuns.Path + "?from=2025-07-15&to=2025-07-16");
                        return answer.StatusCode == HttpStatusCode.OK;
                    },
                    "the lock is free");
            }));

        Assert.Equal(4, await Rig.Database.ScalarAsync<long>(
            "SELECT count(*) FROM payments WHERE (SELECT true FROM settlements WHERE settlements.correlation_id = "
            + "payments.correlation_id) IS NULL"));
    }

    [PostgresFact]
    public async Task The_verb_tells_how_far_it_has_come_and_ends_with_65_until_all_is_repaired()
    {
        var planted = await PlantDifferencesAsync();
        string[] window =
            ["--from", $"{Start:o}", "--to", $"{planted.Last.AddSeconds(10):o}", "--url", Gateway.Url];

        var found = await Verb.RunAsync(["reconcile", .. window]);
        var repaired = await Verb.RunAsync(["reconcile", "--repair", "--json", .. window]);
        var agrees = await Verb.RunAsync(["reconcile", .. window]);

        Assert.Equal(65, found.ExitCode);
        Assert.Matches("(?m)^kind +correlationId +lacks", found.Output);
        Assert.Contains("confirming, ", found.Error, StringComparison.Ordinal);
        Assert.Contains("differs: 4 differences", found.Error, StringComparison.Ordinal);
        Assert.Equal(0, repaired.ExitCode);
        Assert.Equal("repaired", repaired.ReadJson().Text("outcome"));
        Assert.Equal((0, "none"), (agrees.ExitCode, agrees.Output));
    }

    private Task<PlantedLedgers> PlantDifferencesAsync() => PlantAsync(200, static planted =>
    {
        for (var at = 0; at < 4; at++)
            planted.Unrecorded(Known.Default);
    });

    // What stops it later than its first beat is in the report, of a 200; then it is asked for again.
    private static async Task AssertRefusedAsync(
        GatewayHost gateway, string query, int status, string type, string? field)
    {
        var (told, problem) = (0, default(JsonElement));
        await Eventually.HoldsAsync(
            async () =>
            {
                using var answer = await gateway.PostAsync(ReconciliationRuns.Path + query);
                problem = JsonSerializer.Deserialize<JsonElement>(await answer.Content.ReadAsStringAsync());
                told = (int)answer.StatusCode;
                return told != 200 || problem.GetProperty("report").Text("outcome") != "stopped";
            },
            "it is told by the status");

        Assert.Equal(
            (status, $"urn:problem:payment-gateway:{type}", field),
            (told, problem.Text("type"), problem.Text("field")));
    }
}
