namespace PaymentGateway.Tests.Tools;

/// <summary>The report of eng/load, of the files that a load leaves in a folder.</summary>
public sealed class LoadReportTests : IDisposable
{
    private const string Ledger = "default 3 59.70, fallback 2 39.8";

    private readonly string _folder = Directory.CreateTempSubdirectory("load-report.").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData("gabxdev-java-1, all 16,752 at default", 316_696.56, 1.25, 0, 380_036)]
    [InlineData("the preview's ceiling", 316_696.56, 0, 0, 386_370)]
    [InlineData("ricassiocosta-node", 1_666_561, 2.55, 0, 1_949_876)]
    [InlineData("lucas-laurentino-go", 1_640_454, 2.18, 0, 1_935_736)]
    [InlineData("marcelo-dias", 1_644_370, 2.42, 0, 1_923_913)]
    [InlineData("danilosantana-dotnet", 1_642_796, 2.53, 0, 1_922_071)]
    [InlineData("david-delta-sierra-go", 1_367_199, 2.43, 0, 1_599_622)]
    [InlineData("past 11 ms nothing is added", 1000, 250, 0, 1000)]
    [InlineData("an inconsistency costs 35 %", 1000, 11, 1, 650)]
    public async Task The_score_is_the_published_one(
        string entry, double net, double p99Ms, int inconsistencies, double published)
    {
        var (result, _) = await ReportAsync(new JsonObject
        {
            ["p99Ms"] = p99Ms,
            ["inconsistencies"] = inconsistencies,
            ["feeOf"] = new JsonObject { ["default"] = 0 },
            ["settled"] = new JsonObject { ["default"] = new JsonObject { ["requests"] = 1, ["amount"] = net } },
        });

        Assert.True(Math.Abs((double)result["score"]! - published) < 1, $"{entry}: {result["score"]}");
    }

    [Fact]
    public async Task Each_processor_takes_its_fee()
    {
        var (result, isGreen) = await ReportAsync(JsonNode.Parse(
            """
            {
              "p99Ms": 11, "inconsistencies": 0, "feeOf": {"default": 0.07, "fallback": 0.10},
              "settled": {
                "default": {"requests": 52675, "amount": 1056133.75},
                "fallback": {"requests": 37925, "amount": 760396.25}
              }
            }
            """)!.AsObject());

        // Of 90,600 payments the net of ricassiocosta-node is this split and no other.
        Assert.Equal(
            ("1816530", "149968.99", "1666561.01"), ($"{result["gross"]}", $"{result["fees"]}", $"{result["net"]}"));
        Assert.True(isGreen);
    }

    [Fact]
    public async Task The_times_by_nginx_are_those_of_the_payments_alone()
    {
        Write(
            "nginx-times.log", "0.004 POST /payments", "0.000 POST /payments", "0.002 POST /payments",
            "1.500 GET /payments-summary", "0.900 POST /purge-payments");

        var (result, _) = await ReportAsync([]);

        Assert.Equal(
            "2 3.96 4 4",
            $"{result["nginxP50Ms"]} {result["nginxP99Ms"]} {result["nginxP999Ms"]} {result["nginxMaxMs"]}");
    }

    [Fact]
    public async Task CPU_is_that_between_the_first_sample_and_the_last_of_all_processes_of_a_part()
    {
        Write(
            "use", "0 nginx 10 0", "0 api1 100 0", "0 postgres 50 0", "9.25 nginx 15 1024", "9.25 api1 900 51200",
            "9.25 postgres 60 10240", "9.25 postgres 20 10240", "20 nginx 20 1024", "20 api1 1100 51200",
            "20 postgres 300 10240", "20 postgres 50 20480");

        var (result, _) = await ReportAsync([]);

        Assert.Equal("""{"nginx":0.01,"instances":1,"postgreSql":0.3}""", result["cpuSeconds"]!.ToJsonString());
        Assert.Equal(("13.1", "81"), ($"{result["cpuSecondsPer1000"]}", $"{result["peakMemoryMiB"]}"));
    }

    [Theory]
    [InlineData(600, 55, true)]
    [InlineData(600, 56, false)]
    [InlineData(500, 90, true)]
    public async Task An_instance_that_is_a_tenth_heavier_after_ten_minutes_or_more_is_wrong(
        int seconds, int last, bool green)
    {
        Write(
            "use", "0 api1 0 0", "0 postgres 0 0", $"10 api1 0 {50 * 1024}", $"10 postgres 0 {50 * 1024}",
            $"{seconds} api1 0 {last * 1024}", $"{seconds} postgres 0 {300 * 1024}");

        var (result, isGreen) = await ReportAsync([]);

        Assert.Equal(green, isGreen);
        Assert.Equal(green ? 0 : 1, result["failures"]!.AsArray().Count);
        Assert.Equal($"{last + 300}", $"{result["peakMemoryMiB"]}");
    }

    [Theory]
    [InlineData(Ledger, "default 3 59.7, fallback 2 39.80", 5, 5, 0)]
    [InlineData(Ledger, Ledger, 4, 5, 0)] // A payment without an answer may be settled.
    [InlineData(Ledger, Ledger, 6, 6, 1)] // An accepted payment is not settled.
    [InlineData(Ledger, Ledger, 4, 4, 1)] // More payments are settled than were sent.
    [InlineData(Ledger, "default 3 59.71, fallback 2 39.80", 5, 5, 1)]
    [InlineData(Ledger, "default 3 59.70, fallback 2 39.79", 5, 5, 1)]
    [InlineData(Ledger, "default 4 59.70, fallback 2 39.80", 5, 5, 1)]
    [InlineData(Ledger, "default 2 39.80, fallback 3 59.70", 5, 5, 2)] // The sum is right, the processors are not.
    [InlineData("default 3 999999999999.99", "default 3 999999999999.98", 3, 3, 1)]
    [InlineData(Ledger, "default 3 59.70, fallback 2 39.80, third 0 0", 5, 5, 1)] // The gateway does not name it.
    [InlineData("default 3 59.70, third 1 19.9", "default 3 59.70, third 1 19.90", 4, 4, 0)]
    public async Task Each_cent_and_payment_too_many_too_few_or_elsewhere_is_wrong(
        string ledger, string stored, int accepted, int sent, int wrong)
    {
        Write("ledgers.json", $$"""{"gateway": {{Json(ledger)}}, "processors": {{Json(stored)}}}""");

        var (result, isGreen) = await ReportAsync(new JsonObject { ["accepted"] = accepted, ["sent"] = sent });

        Assert.Equal(wrong, result["failures"]!.AsArray().Count);
        Assert.Equal(wrong == 0, isGreen);
    }

    [Theory]
    [InlineData("{}")]
    [InlineData("""{"gateway": {}}""")]
    public async Task Summaries_that_nobody_could_read_and_what_the_load_itself_found_are_wrong(string ledgers)
    {
        Write("ledgers.json", ledgers);

        var (result, isGreen) = await ReportAsync(new JsonObject { ["failures"] = new JsonArray("3 inconsistencies") });

        Assert.False(isGreen);
        Assert.Equal(
            ["3 inconsistencies", "ledger: the summaries cannot be read"],
            result["failures"]!.AsArray().Select(failure => (string)failure!));
    }

    [Fact]
    public async Task A_comparison_has_medians_and_the_ratio_to_the_p99_of_the_stub_with_the_same_load()
    {
        Compared("final", "Final", "durable", payments: 3);
        Compared("final", "Final", "durable", payments: 5);
        Compared("stub-final", "Final", "stub, limits", payments: 2);
        Compared("stub", "Preview", "stub, limits", payments: 1);

        var report = await Shell.ReadAsync([Script, "compared", _folder]);

        Assert.Equal(
            [
                "| final | 2 | 0.3 | 8 | 4 | 2 | - | 7 |", "| stub | 1 | 0.3 | 2 | 1 | - | - | 7 |",
                "| stub-final | 1 | 0.3 | 4 | 2 | - | - | 7 |",
            ],
            report.Split('\n')[2..]);
    }

    private static string Script => Repository.PathOf("eng", "load");

    private static string Json(string totals) => new JsonObject(totals.Split(", ").Select(each => each.Split(' '))
        .Select(words => KeyValuePair.Create(words[0], JsonNode.Parse(
            $$"""{"totalRequests": {{words[1]}}, "totalAmount": {{words[2]}}}""")))).ToJsonString();

    private void Compared(string side, string simulation, string mode, int payments)
    {
        var run = Directory.CreateDirectory(Path.Combine(_folder, $"{side}-{payments}")).FullName;
        File.WriteAllText(
            Path.Combine(run, "result.json"),
            $$"""
            {
              "side": "{{side}}", "simulation": "{{simulation}}", "mode": "{{mode}}", "p50Ms": 0.3,
              "p99Ms": {{2 * payments}}, "paymentP99Ms": {{payments}}, "net": 7
            }
            """);
    }

    private void Write(string name, params string[] lines) => File.WriteAllLines(Path.Combine(_folder, name), lines);

    private async Task<(JsonObject Result, bool IsGreen)> ReportAsync(JsonObject figures)
    {
        figures.TryAdd("accepted", 100);
        figures.TryAdd("sent", 100);
        figures.TryAdd("failures", new JsonArray());
        Write("figures.json", figures.ToJsonString());
        Write("run.json", """{"side": "preview", "simulation": "Preview", "mode": "unlogged"}""");
        var said = await Shell.RunAsync([Script, "report", _folder]);
        var result = JsonNode.Parse(await File.ReadAllTextAsync(Path.Combine(_folder, "result.json")))!.AsObject();
        return (result, said.Succeeded);
    }
}
