namespace PaymentGateway.Tests.Hosting.Telemetry;

public sealed class MetricsTests : OwnRig
{
    private const string Prefix = "payment_gateway_";

    [PostgresFact]
    public async Task Payments_are_counted_from_acceptance_to_settlement()
    {
        var gateway = await Rig.StartGatewayAsync();
        var id = await gateway.PayAsync();
        await gateway.PayAsync();
        await gateway.PayAsync();
        Assert.Equal(HttpStatusCode.Accepted, await gateway.PayAsync(id));
        Assert.Equal(HttpStatusCode.Conflict, await gateway.PayAsync(id, 20m));
        Assert.Equal(HttpStatusCode.BadRequest, await gateway.PayAsync(Guid.NewGuid(), -1m));
        await gateway.GetAsync("payments-summary");

        await Rig.LedgersReachAsync(byDefault: 3);
        var samples = await ReadUntilAsync(gateway, "payments_settled_total{processor=\"default\"}", 3);

        Assert.Equal(3, samples["payments_accepted_total"]);
        Assert.Equal(1, samples["payments_duplicates_total"]);
        Assert.Equal(1, samples["payments_refused_total{reason=\"conflict\"}"]);
        Assert.Equal(1, samples["payments_refused_total{reason=\"invalid\"}"]);
        Assert.Equal(0, samples["payments_refused_total{reason=\"overloaded\"}"]);
        Assert.Equal(5, samples["accept_duration_seconds_count"]);
        Assert.Equal(samples["store_duration_seconds_count"], samples["store_batch_size_count"]);
        Assert.Equal(5, samples["store_batch_size_sum"]);
        Assert.Equal(3, samples["record_batch_size_sum"]);
        Assert.Equal(1, samples["summarise_duration_seconds_count"]);
        Assert.Equal(3, samples[Call("default", "charge", "settled")]);
        Assert.Equal(3, samples["processor_call_duration_seconds_bucket{processor=\"default\",le=\"+Inf\"}"]);
        Assert.Equal(59.70, samples["settled_amount_total{processor=\"default\"}"], 6);
        Assert.Equal(59.70 * 0.05, samples["fee_paid_total{processor=\"default\"}"], 6);
        Assert.Equal(0, samples["fee_paid_total{processor=\"fallback\"}"]);
        Assert.Equal(0, samples["fee_avoided_total"]);
        Assert.Equal(0, samples["backlog_payments"]);
        Assert.Equal(0, samples["backlog_age_seconds"]);
        Assert.Equal(1, samples["lease_held"]);
        Assert.Equal(1, samples["processor_circuit{processor=\"default\",state=\"closed\"}"]);
        Assert.Equal(0, samples["processor_circuit{processor=\"default\",state=\"open\"}"]);
        Assert.Equal(1, samples["processor_availability{processor=\"fallback\",state=\"usable\"}"]);
    }

    [PostgresFact]
    public async Task An_outage_shows_while_it_lasts_and_the_fees_that_waiting_saved_show_after_it()
    {
        await Rig.Default.SetFailureAsync(true);
        await using var third = await SimulatedProcessor.StartAsync();
        var gateway = await Rig.StartGatewayAsync(
            "Processors:Default:Fee=0.01", "Processors:Fallback:Fee=0.11", "Routing:FallbackAfter=10m",
            $"Processors:Third:BaseUrl={third.BaseAddress}", "Processors:Third:Fee=0.31");
        for (var payment = 0; payment < 6; payment++)
            await gateway.PayAsync();

        var refused = Call("default", "charge", "refused");
        var samples = await ReadUntilAsync(gateway, refused, atLeast: 1);
        var before = samples[refused];
        samples = await ReadUntilAsync(
            gateway,
            now => now[refused] >= before + 2 && now["backlog_payments"] == 6
                && now["processor_availability{processor=\"default\",state=\"usable\"}"] == 0,
            "between two probes all of them wait");
        Assert.Equal(1, samples["processor_availability{processor=\"third\",state=\"usable\"}"]);
        Assert.True(samples["backlog_age_seconds"] > 0);

        await Rig.Default.SetFailureAsync(false);
        await Rig.LedgersReachAsync(byDefault: 6);
        samples = await ReadUntilAsync(gateway, "payments_settled_total{processor=\"default\"}", 6);

        // The next dearer one would have taken them, not the dearest.
        Assert.Equal(6 * 19.90 * 0.10, samples["fee_avoided_total"], 6);
        Assert.Equal(6 * 19.90 * 0.01, samples["fee_paid_total{processor=\"default\"}"], 6);
    }

    [PostgresFact]
    public async Task What_is_adopted_parked_or_lost_is_counted()
    {
        await Rig.Default.SetFailureAsync(true);
        var first = await Rig.StartGatewayAsync("Routing:FallbackAfter=10m");
        await first.PayAsync();
        await first.PayAsync();
        var second = await Rig.StartGatewayAsync("Routing:FallbackAfter=10m");
        await Rig.StopGatewayAsync(first);

        await ReadUntilAsync(second, "payments_adopted_total", 2);
        // One answer reads the gauges before the counters, so an adoption may come between them.
        var samples = await ReadUntilAsync(second, "backlog_payments", 2);
        Assert.Equal(2, samples["backlog_payments"]);
        Assert.Equal((0, 0), (samples["payments_parked_total"], samples["lease_lost_total"]));

        await second.Part<OwnedPayments>().ParkAsync(
            second.Epoch, second.Epoch.Unsettled.Snapshot()[0], Known.Default, "a test");
        await Rig.Database.ExecuteAsync("UPDATE leases SET closed_at = now() WHERE closed_at IS NULL");

        samples = await ReadUntilAsync(second, "lease_lost_total", 1);
        Assert.Equal(1, samples["payments_parked_total"]);
        await ReadUntilAsync(second, "lease_held", 1);
    }

    [PostgresFact]
    public async Task What_is_parked_now_is_told_by_every_instance_until_it_is_replayed()
    {
        var (first, second) = (await Rig.StartGatewayAsync(), await Rig.StartGatewayAsync());
        await first.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 1);
        await Rig.Default.SetFaultsAsync(new { status = 400, times = 1 });
        await first.PayAsync();

        foreach (var instance in new[] { first, second })
            await ReadUntilAsync(instance, "parked_payments", atLeast: 1);
        using var replayed = await second.PostAsync("admin/parked/replay");
        foreach (var instance in new[] { first, second })
            await ReadUntilAsync(instance, samples => samples["parked_payments"] == 0, "nothing is parked");
    }

    [PostgresFact]
    public async Task An_idle_processor_that_is_killed_is_unknown_and_then_unusable_here_and_in_the_overview()
    {
        await using var fallback = await SimulatedProcessor.StartAsync();
        var gateway = await Rig.StartGatewayAsync(
            $"Processors:Fallback:BaseUrl={fallback.BaseAddress}", "Routing:HealthInterval=5s");
        await ReadUntilAsync(gateway, Call("fallback", "health", "reported"), atLeast: 1);

        await fallback.DisposeAsync();

        await ReadUntilAsync(gateway, StateOf("fallback", "unknown"), atLeast: 1);
        var samples = await ReadUntilAsync(gateway, StateOf("fallback", "unusable"), atLeast: 1);
        Assert.Equal(0, samples[StateOf("fallback", "usable")]);
        Assert.Equal(1, samples[StateOf("default", "usable")]);
        await using var events = await gateway.WatchAsync();
        var view = await events.UntilAsync(view => view.GetProperty("database").GetBoolean(), "the database answers");
        var shown = view.GetProperty("processors")[1];
        Assert.Equal("unusable", shown.GetProperty("availability").GetString());
        Assert.True(shown.GetProperty("reportIsOverdue").GetBoolean());
    }

    private static string StateOf(string processor, string state) =>
        $"processor_availability{{processor=\"{processor}\",state=\"{state}\"}}";

    private static string Call(string processor, string call, string outcome) =>
        $"processor_calls_total{{processor=\"{processor}\",call=\"{call}\",outcome=\"{outcome}\"}}";

    // Outcomes are counted a moment after they are in the ledger.
    private static Task<Dictionary<string, double>> ReadUntilAsync(GatewayHost gateway, string name, double atLeast) =>
        ReadUntilAsync(
            gateway, samples => samples.TryGetValue(name, out var value) && value >= atLeast, $"{name} is {atLeast}");

    private static async Task<Dictionary<string, double>> ReadUntilAsync(
        GatewayHost gateway, Predicate<Dictionary<string, double>> isWanted, string what)
    {
        Dictionary<string, double> samples = [];
        await Eventually.HoldsAsync(
            async () =>
            {
                samples = Prometheus.Read(await gateway.GetAsync("metrics")).ToDictionary(
                    sample => sample.Key.Replace(Prefix, "", StringComparison.Ordinal), sample => sample.Value);
                return isWanted(samples);
            },
            what);
        return samples;
    }
}
