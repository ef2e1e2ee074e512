namespace PaymentGateway.Tests.EndToEnd;

[Collection(OneAfterAnother.Name)]
public sealed class PrometheusTests
{
    private static readonly Regex Alert = new("- alert: ");
    private static readonly Regex Runbook = new("""runbook_url: "docs/operations\.md#(.+)"\n""");
    private static readonly Regex Heading = new("^##+ (.+)$", RegexOptions.Multiline);
    private static readonly Regex Punctuation = new(@"[^\w -]");

    private static readonly string[] Rules = ["rules.yml", "alerts.yml"];

    [PrometheusSystemFact]
    public async Task Both_instances_are_scraped_and_every_query_of_the_dashboard_has_an_answer()
    {
        var port = GatewaySystemSettings.TwoFreePorts();
        await using var system = await GatewaySystem.UpAsync(("ADMIN_PORT", $"{port}"));
        await using var prometheus = await PrometheusServer.StartAsync(port, system.Address.Port);
        var paid = new LoadLedger();

        // Rates need a rise between two scrapes, at both instances.
        var queries = QueriesOfTheDashboard();
        Assert.True(queries.Count > 40);
        foreach (var query in queries)
            await Eventually.HoldsAsync(
                async () =>
                {
                    foreach (var instance in new[] { system.Api1, system.Api2 })
                    {
                        await LoadDriver.PostAsync(instance, paid);
                        await instance.GetStringAsync("payments-summary");
                    }

                    return await prometheus.QueryAsync(query) is { Count: > 0 } answer && answer.All(IsNumber);
                },
                $"an answer to {query}");

        await Eventually.HoldsAsync(
            async () => await prometheus.QueryAsync("sum(payment_gateway_payments_accepted_total)") is [var sum]
                && sum.Value == $"{paid.Count}",
            $"{paid.Count} payments are counted");
        paid.NoClientSawAnError();
        await Eventually.HoldsAsync(
            async () => (await prometheus.QueryAsync("up == 1")).Select(series => series.Labels["instance"]).Order()
                .SequenceEqual([$"127.0.0.1:{system.Address.Port}", "api1", "api2"]),
            "both are up, and nginx before them");
        Assert.Empty(await prometheus.QueryAsync("ALERTS{alertstate=\"firing\"}"));

        // Each instance has all of its metrics by now, the duration of a summary too.
        using var scraping = new HttpClient();
        foreach (var admin in new[] { port, port + 1 })
            await Prometheus.CheckAsync(
                ["check", "metrics"], await scraping.GetStringAsync($"http://127.0.0.1:{admin}/metrics"));
    }

    // Bodies that drip, of two addresses: no instance is asked, and none has a metric of it.
    [PrometheusSystemFact]
    public async Task Refusals_of_nginx_are_seen_where_payments_come_in()
    {
        const int OfEach = 600;
        var port = GatewaySystemSettings.TwoFreePorts();
        await using var system = await GatewaySystem.UpAsync(("ADMIN_PORT", $"{port}"));
        await using var prometheus = await PrometheusServer.StartAsync(port, system.Address.Port);
        await Eventually.HoldsAsync(() => IsUpAsync("1"), "nginx is watched");

        var held = new List<RawConnection>();
        foreach (var address in new[] { "127.0.0.2", "127.0.0.3" })
            for (var at = 0; at < OfEach; at++)
            {
                held.Add(await RawConnection.FromAsync(IPAddress.Parse(address), system.Address.Port));
                _ = held[^1].DribbleAsync(
                    Enumerable.Repeat(" ", 4_000).Prepend(
                        "POST /payments HTTP/1.1\r\nHost: gateway\r\nContent-Length: 4000\r\n\r\n"),
                    TimeSpan.FromSeconds(2), TimeSpan.FromMinutes(5));
            }

        await Eventually.HoldsAsync(() => IsUpAsync("0"), "it is seen to refuse");
        Assert.Equal(2, (await prometheus.QueryAsync("up{job=\"payment-gateway\"} == 1")).Count);
        Assert.Contains("limiting connections by zone \"in_flight\"", system.ReadLog(PartNames.Nginx));
        foreach (var connection in held)
            connection.Dispose();
        await Eventually.HoldsAsync(() => IsUpAsync("1"), "it takes requests again");

        async Task<bool> IsUpAsync(string value) =>
            await prometheus.QueryAsync("up{job=\"payment-gateway-entry\"}") is [var one] && one.Value == value;
    }

    [PrometheusFact]
    public async Task Each_alert_fires_when_it_should_and_only_then()
    {
        await Prometheus.CheckAsync(["check", "config", PathOf("prometheus.yml")]);
        await Prometheus.CheckAsync(["check", "rules", .. Rules.Select(PathOf)]);
        await Prometheus.CheckAsync(["test", "rules", PathOf("alerts.test.yml")]);
    }

    [Fact]
    public void Each_alert_has_a_test()
    {
        var tests = File.ReadAllLines(PathOf("alerts.test.yml"));

        Assert.All(
            File.ReadLines(PathOf("alerts.yml")).Where(line => line.Contains("- alert: ", StringComparison.Ordinal)),
            alert => Assert.Contains($"      - alertname: {alert.Split(": ")[1]}", tests));
    }

    [Fact]
    public void Each_alert_leads_to_a_section_of_operations_md()
    {
        var rules = File.ReadAllText(PathOf("alerts.yml"));
        // As the repository's host makes them of headings.
        var sections = Heading.Matches(File.ReadAllText(Repository.PathOf("docs", "operations.md"))).Select(match =>
            Punctuation.Replace(match.Groups[1].Value.ToLowerInvariant(), "").Replace(' ', '-')).ToHashSet();

        var runbooks = Runbook.Matches(rules).Select(match => match.Groups[1].Value).ToList();

        Assert.Equal(Alert.Count(rules), runbooks.Count);
        Assert.Empty(runbooks.Except(sections));
    }

    private static string PathOf(string file) => Repository.PathOf("ops", "prometheus", file);

    private static List<string> QueriesOfTheDashboard()
    {
        using var dashboard = JsonDocument.Parse(
            File.ReadAllText(Repository.PathOf("ops", "grafana", "payment-gateway.json")));
        return dashboard.RootElement.GetProperty("panels").EnumerateArray()
            .SelectMany(panel => panel.GetProperty("targets").EnumerateArray())
            .Select(target => target.GetProperty("expr").GetString()!).ToList();
    }

    // A mean of nothing is NaN.
    private static bool IsNumber((Dictionary<string, string> Labels, string Value) series) => series.Value != "NaN";
}
