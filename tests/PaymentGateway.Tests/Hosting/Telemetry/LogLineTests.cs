namespace PaymentGateway.Tests.Hosting.Telemetry;

public sealed class LogLineTests : OwnRig
{
    private static readonly Regex Random = new(
        @"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|0H[0-9A-Z]{11}|\d\d:\d\d:[\d.]+");
    private static readonly Regex Payment = new("\"message\":\"Payment ");

    private const string Token = "a-token-of-an-operator";

    // No id, time or port looks like one of these.
    private static readonly decimal[] Amounts = [876543.21m, 765432.19m];
    private static readonly string[] Traces = ["876543", "765432", "876,543", "765,432", Token];

    private readonly OwnServerDatabase _database = new();
    private readonly GatheredLines _lines = new();

    private protected override TestDatabase NewDatabase() => _database;

    [PostgresFact]
    public async Task No_line_of_any_level_names_an_amount_or_the_token_whatever_fails()
    {
        var gateway = await StartAsync(LogLevel.Trace, $"Admin:Token={Token}");
        await AskAsOperatorAsync(gateway);
        var paid = await PayThroughFaultsAsync(gateway);
        await PayTwoAmountsAsync(gateway);
        await StoredAmountDiffersAsync(gateway);
        await _database.Server.StopAsync();
        await gateway.PayAsync(Guid.NewGuid(), Amounts[0]);
        await Eventually.HoldsAsync(() => Events().Contains("DatabaseUnavailable"), "the log tells of the database");
        await _database.StartAgainAsync();
        await Eventually.HoldsAsync(() => Events().Contains("DatabaseAvailable"), "and that it is back");

        Assert.Superset(
            new HashSet<string> { "Parked", "InDoubt", "Resolved", "Refused", "AmountDiffers", "StoringFailed" },
            Events());
        Assert.All(_lines.Lines, line => Assert.All(
            Traces, amount => Assert.DoesNotContain(amount, WithoutIds(line), StringComparison.Ordinal)));
        // Whatever tells of one payment names it by its correlationId.
        var ofPayments = _lines.Lines.Where(line => Payment.IsMatch(line)).ToList();
        Assert.NotEmpty(ofPayments);
        Assert.All(ofPayments, line => Assert.True(JsonDocument.Parse(line).RootElement.GetProperty("values")
            .GetProperty("correlationId").GetGuid() != Guid.Empty));
        Assert.Contains(ofPayments, line => line.Contains($"{paid}", StringComparison.Ordinal));
    }

    [PostgresFact]
    public async Task At_the_usual_level_payments_that_are_settled_say_nothing()
    {
        var gateway = await StartAsync(LogLevel.Information);
        for (var i = 0; i < 200; i++)
            await gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 200);
        using var refused = await gateway.PostAsync("payments");
        using var unknown = await gateway.AskAsync("nowhere");
        await gateway.GetAsync("payments-summary");

        Assert.Empty(_lines.Lines);
    }

    [PostgresFact]
    public async Task An_outage_of_the_database_is_told_when_it_begins_and_when_it_ends()
    {
        var gateway = await StartAsync(LogLevel.Information);
        await gateway.PayAsync();
        await _database.Server.StopAsync();
        for (var i = 0; i < 30; i++)
            Assert.Equal(HttpStatusCode.ServiceUnavailable, await gateway.PayAsync(Guid.NewGuid()));
        await Eventually.HoldsAsync(
            async () => await gateway.ReadyAsync() == HttpStatusCode.ServiceUnavailable, "the lease has expired");
        await _database.StartAgainAsync();
        await Eventually.HoldsAsync(() => Events().Contains("DatabaseAvailable"), "the log tells that it is back");
        Assert.Equal(HttpStatusCode.Accepted, await gateway.PayAsync(Guid.NewGuid()));

        foreach (var name in new[] { "DatabaseUnavailable", "StoringFailed", "RecordUnavailable", "DatabaseAvailable" })
            Assert.Single(_lines.Lines, line => line.Contains($"\"event\":\"{name}\"", StringComparison.Ordinal));
    }

    private async Task<GatewayHost> StartAsync(LogLevel level, params string[] settings)
    {
        string[] categories = level == LogLevel.Trace ? ["Default", "Microsoft", "System"] : ["Default"];
        var gateway = await Rig.StartGatewayAsync(
            ["Settling:CallTimeout=2s", "Settling:InDoubtHorizon=2s",
                .. categories.Select(category => $"Logging:LogLevel:{category}={level}"), .. settings]);
        gateway.Part<ILoggerFactory>().AddProvider(_lines.NewProvider());
        await Eventually.HoldsAsync(
            async () => await gateway.ReadyAsync() == HttpStatusCode.OK, "the gateway takes payments");
        return gateway;
    }

    private static async Task AskAsOperatorAsync(GatewayHost gateway)
    {
        using var operated = UnixHttp.To(gateway.Socket);
        operated.DefaultRequestHeaders.Add("X-Rinha-Token", Token);
        Assert.Equal(PaymentViews.NoPayments, await operated.GetStringAsync(PaymentViews.ParkedPath));
        operated.DefaultRequestHeaders.Add("X-Rinha-Token", "and another one");
        using var refused = await operated.GetAsync(PaymentViews.ParkedPath);
        Assert.Equal(HttpStatusCode.Unauthorized, refused.StatusCode);
    }

    // Each fault hits a payment of its own: a refusal, a broken answer, an error after the insert, and a 400.
    private async Task<Guid> PayThroughFaultsAsync(GatewayHost gateway)
    {
        var settled = 0;
        foreach (var fault in new object[]
        {
            new { tooMany = true, times = 1 }, new { garbage = true, times = 1 },
            new { afterInsert = "reset", times = 1 }, new { afterInsert = "errorBody", times = 1 },
        })
        {
            await Rig.Default.SetFaultsAsync(fault);
            Assert.Equal(HttpStatusCode.Accepted, await gateway.PayAsync(Guid.NewGuid(), Amounts[0]));
            await Rig.LedgersReachAsync(byDefault: ++settled);
        }

        await Rig.Default.SetFaultsAsync(new { status = 400, times = 1 });
        var parked = Guid.NewGuid();
        Assert.Equal(HttpStatusCode.Accepted, await gateway.PayAsync(parked, Amounts[0]));
        await Eventually.HoldsAsync(() => Events().Contains("Parked"), "it is parked");
        return parked;
    }

    private async Task PayTwoAmountsAsync(GatewayHost gateway)
    {
        var id = Guid.NewGuid();
        Assert.Equal(HttpStatusCode.Accepted, await gateway.PayAsync(id, Amounts[0]));
        await Rig.LedgersReachAsync(byDefault: 5);
        Assert.Equal(HttpStatusCode.Accepted, await gateway.PayAsync(id, Amounts[0]));
        Assert.Equal(HttpStatusCode.Conflict, await gateway.PayAsync(id, Amounts[1]));
        Assert.Equal(HttpStatusCode.BadRequest, await gateway.PayAsync(Guid.NewGuid(), Amounts[1] + 0.001m));
        using var listed = await gateway.AskAsync("payments", ("X-Rinha-Token", Token));
        Assert.Contains("876543.21", await listed.Content.ReadAsStringAsync(), StringComparison.Ordinal);
    }

    // The processor has the payment already, and with another amount.
    private async Task StoredAmountDiffersAsync(GatewayHost gateway)
    {
        var id = Guid.NewGuid();
        using var body = System.Net.Http.Json.JsonContent.Create(
            new { correlationId = id, amount = Amounts[1], requestedAt = DateTime.UtcNow });
        using var stored = await Rig.Default.Client.PostAsync("payments", body);
        stored.EnsureSuccessStatusCode();

        Assert.Equal(HttpStatusCode.Accepted, await gateway.PayAsync(id, Amounts[0]));

        await Eventually.HoldsAsync(() => Events().Contains("AmountDiffers"), "the difference is told");
    }

    private HashSet<string> Events() => _lines.Lines.Select(line => JsonDocument.Parse(line).RootElement)
        .Where(line => line.TryGetProperty("event", out _)).Select(line => line.GetProperty("event").GetString()!)
        .ToHashSet();

    // Random digits, which may be anything; as may times and what is derived from them.
    private static string WithoutIds(string line) => Random.Replace(line, "");
}
