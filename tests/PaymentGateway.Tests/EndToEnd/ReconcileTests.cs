using PaymentGateway.Tests.Operator.Reconciliation;

namespace PaymentGateway.Tests.EndToEnd;

[Collection(AlsoOneAfterAnother.Name)]
public sealed class ReconcileTests
{
    private const int Agreeing = 100_000;

    private static readonly DateTime Start = DateTime.UtcNow.Date.AddDays(-2);

    // Five seconds among payments that agree: no window that cuts them has another difference.
    private static readonly DateTime WrongTotal = Start.AddSeconds(25);

    [GatewaySystemFact]
    public async Task Each_planted_difference_of_100000_payments_is_named_and_repaired_under_load()
    {
        await using var system = await GatewaySystem.UpAsync(
            ("Gateway__Processors__Default__AdminToken", SimulatedProcessor.InitialToken),
            ("Gateway__Processors__Fallback__AdminToken", SimulatedProcessor.InitialToken),
            ("Gateway__Reconciling__MaxRate", "100000"), ("Gateway__Settling__InDoubtHorizon", "2s"),
            ("Gateway__Settling__CallTimeout", "2s"),
            // Under load on a busy machine an answer may take long, and no processor fails here.
            ("Gateway__Routing__MaxLatency", "60s"));
        var planted = Plant();
        await planted.WriteAsync(system.ConnectionString, system.Default, system.Fallback);
        await system.Database.ExecuteAsync(
            "UPDATE settlement_totals SET requests = requests + 1, amount_cents = amount_cents + 1990 "
            + $"WHERE width_seconds = 5 AND processor = 1 AND bucket = '{WrongTotal:o}'");
        var ledger = new LoadLedger();
        planted.NoteIn(ledger);
        using var over = new CancellationTokenSource();
        var load = LoadAsync(system, ledger, over.Token);
        string[] window = ["--from", $"{Start:o}", "--to", $"{planted.Last.AddMinutes(1):o}", "--json"];

        var repair = await RunAsync(system, 65, ["reconcile", "--repair", .. window]);

        Assert.Equal(planted.Kinds.OrderBy(one => one.Key), repair.Kinds().OrderBy(one => one.Key));
        await RepairAgainAsync(system, repair, window);
        await Eventually.HoldsAsync(
            async () => await system.Database.CountAsync(
                "payments LEFT JOIN settlements USING (accepted_at, correlation_id) "
                + $"WHERE requested_at IS NULL AND accepted_at < '{Start.AddHours(1):o}'") == 0,
            "what was put back is settled");
        await over.CancelAsync();
        await load;
        await Eventually.HoldsAsync(system.IsIdleAsync, "the load is settled");

        var again = await RunAsync(system, 65, ["reconcile", .. window]);

        AssertLeft(again, planted);
        await AssertOnlyLeftDiffersAsync(system, ledger, planted);
    }

    private static PlantedLedgers Plant()
    {
        var planted = new PlantedLedgers(Start, TimeSpan.FromMilliseconds(2.003));
        for (var round = 0; round < 2; round++)
            foreach (var processor in new[] { Known.Default, Known.Fallback })
            {
                planted.Agreeing(Agreeing / 4);
                planted.Absent(processor);
                planted.Unrecorded(processor);
                planted.Misplaced(processor);
                planted.ChargedTwice(processor);
                planted.Amount(processor);
                planted.RequestedAt(processor);
                planted.NotInLedger(processor);
            }

        return planted;
    }

    private static async Task LoadAsync(GatewaySystem system, LoadLedger ledger, CancellationToken over)
    {
        while (!over.IsCancellationRequested)
            await LoadDriver.RunAtRateAsync(system.Client, ledger, perSecond: 100, TimeSpan.FromSeconds(1));
    }

    // A payment that the report leaves because a processor is not healthy can be put back a moment later.
    private static async Task RepairAgainAsync(GatewaySystem system, JsonElement report, string[] window)
    {
        for (var runs = 0; runs < 5 && report.Differences().Exists(IsLeftForNow); runs++)
            report = await RunAsync(system, 65, ["reconcile", "--repair", .. window]);
    }

    private static bool IsLeftForNow(JsonElement one) => one.Text("why") is { } why
        && why.StartsWith("A processor is not healthy", StringComparison.Ordinal);

    // Only the processors know the unknown payments and can give money back; no payment explains a wrong total.
    private static void AssertLeft(JsonElement report, PlantedLedgers planted)
    {
        var unknown = report.Differences().Where(one => one.Text("kind") == "unknown").ToList();
        Assert.Equal(planted.Unknown.Payments, unknown.Sum(one => one.GetProperty("payments").GetInt32()));
        Assert.Equal(planted.Unknown.Cents / 100m, unknown.Sum(one => one.GetProperty("amount").GetDecimal()));
        Assert.Equal(
            planted.Kinds.Count(one => one.Value == "charged_twice"),
            report.Differences().Count(one => one.Text("kind") == "charged_twice"));
        var sums = Assert.Single(report.Differences(), one => one.Text("kind") == "sums");
        Assert.Equal(
            ("default", -1, -19.90m),
            (sums.Text("processor"), sums.GetProperty("payments").GetInt32(),
                sums.GetProperty("amount").GetDecimal()));
        Assert.InRange(WrongTotal, sums.GetProperty("from").GetDateTime(), sums.GetProperty("to").GetDateTime());
        Assert.All(
            report.Differences(), one => Assert.True(one.Text("kind") is "charged_twice" or "unknown" or "sums"));
    }

    // A comparison of every payment, past the gateway: only the differences that were left remain.
    private static async Task AssertOnlyLeftDiffersAsync(
        GatewaySystem system, LoadLedger ledger, PlantedLedgers planted)
    {
        var comparison = new LedgerComparison(
            ledger, await system.Database.SettlementsAsync(), await system.StoresAsync());
        var amounts = planted.Kinds.Count(one => one.Value == "amount");
        var twice = planted.Kinds.Count(one => one.Value == "charged_twice");
        Assert.Equal(
            [
                $"{amounts} in the ledger, and not as it was sent",
                $"{planted.Unknown.Payments} charged, and not in the ledger",
                $"{twice} charged by several processors",
            ],
            comparison.Differences().Select(one => one.Count));
    }

    private static async Task<JsonElement> RunAsync(GatewaySystem system, int exitCode, string[] arguments)
    {
        var run = await ProgramRun.RunAsync(
            [GatewaySystemParts.Gateway, .. arguments], null, [("PAYMENT_GATEWAY_URL", system.Address.ToString())]);

        Assert.True(exitCode == run.ExitCode, $"{string.Join(' ', arguments)}: {run}");
        return JsonSerializer.Deserialize<JsonElement>(run.Output);
    }
}
