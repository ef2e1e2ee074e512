using System.Text.Encodings.Web;
using System.Text.Json.Nodes;
using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>The figures of a run: those that the simulation left in its folder, and what is added to them.</summary>
public sealed class RunResult
{
    private static readonly JsonSerializerOptions Indented = new(JsonSerializerDefaults.Web)
    {
        WriteIndented = true,
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
    };

    private static readonly (string Name, double Percent)[] Percentiles =
        [("P50", 50), ("P99", 99), ("P999", 99.9), ("Max", 100)];

    private readonly JsonObject _figures;

    private RunResult(string json) => _figures = JsonNode.Parse(json)!.AsObject();

    /// <summary>Null when the run ended before it had figures.</summary>
    public static RunResult? In(string folder) =>
        Path.Combine(folder, "result.json") is var file && File.Exists(file) ? Of(File.ReadAllText(file)) : null;

    public static RunResult Of(string json) => new(json);

    public string Json => _figures.ToJsonString(Indented);

    /// <summary>A figure; null when the run has none of this name.</summary>
    public object? this[string name]
    {
        get => _figures[name];
        set => _figures[name] = JsonSerializer.SerializeToNode(value, Indented);
    }

    public IReadOnlyList<string> Failures =>
        _figures["failures"] is JsonArray failures ? [.. failures.Select(failure => $"{failure}")] : [];

    /// <summary>The payments' p99 in each stage of an official load; none of another.</summary>
    public IReadOnlyList<(double FromSecond, double P99Ms)> Stages => _figures["stages"] is JsonArray stages
        ? [.. stages.Select(stage => ((double)stage!["fromSecond"]!, (double)stage["p99Ms"]!))]
        : [];

    public void Fail(string failure) => this["failures"] = Failures.Append(failure);

    public int Count(string name) => (int)_figures[name]!;

    public double? Number(string name) => (double?)_figures[name];

    public string Text(string name) => this[name]?.ToString() ?? "-";

    /// <summary>Of a load that has one.</summary>
    public void AddScore()
    {
        if (_figures["inconsistencies"] is not { } inconsistencies)
            return;
        var settled = _figures["settled"]!.AsObject()
            .Select(each => ((decimal)each.Value!["amount"]!, (decimal)_figures["feeOf"]![each.Key]!)).ToList();
        var score = Score.Of(settled, (decimal)_figures["p99Ms"]!, (int)inconsistencies > 0);
        (this["gross"], this["fees"], this["net"], this["score"]) = (score.Gross, score.Fees, score.Net, score.Points);
    }

    /// <summary>By nginx's clock, from a request's first byte to the last of its answer, in whole ms.</summary>
    /// <param name="lines">Of the log that it keeps for a load: seconds, method and path.</param>
    public void AddNginxTimes(IEnumerable<string> lines)
    {
        var times = lines.Select(line => line.Split(' ', 2)).Where(pair => pair[1] == "POST /payments")
            .Select(pair => 1000 * double.Parse(pair[0], CultureInfo.InvariantCulture)).Order().ToList();
        if (times.Count == 0)
            return;
        foreach (var (name, percent) in Percentiles)
            this[$"nginx{name}Ms"] = Math.Round(Statistics.Percentile(times, percent), 2);
    }

    /// <summary>A table of one row, and one of the payments' times by both clocks.</summary>
    public IEnumerable<string> Tables() =>
    [
        .. Figure.Head(
        [
            "date", "commit", "mode", "p50 / p99 ms", "lag", "inconsistencies", "score", "CPU s / 1,000", "peak memory",
        ]),
        Row,
        "",
        .. Figure.Head(["payments' times, ms", "p50", "p99", "p99.9", "largest"]),
        Figure.Row(["by the generator", .. TimesBy("payment")]),
        Figure.Row(["by nginx, whole ms", .. TimesBy("nginx")]),
    ];

    public string Row => Figure.Row(
    [
        Text("date"), Text("commit"), $"{Text("simulation")}, {Text("mode")}", $"{Text("p50Ms")} / {Text("p99Ms")}",
        Text("lag"), Text("inconsistencies"), Text("score"), Text("cpuSecondsPer1000"), Text("peakMemoryMiB"),
    ]);

    /// <summary>One line for the head of the picture.</summary>
    public string Headline() =>
        $"{Text("simulation")} ({Text("mode")}): {this["accepted"]} payments, p50 {this["p50Ms"]} ms, "
        + $"p99 {this["p99Ms"]} ms"
        + (this["lag"] is { } lag ? $", lag {lag}" : "")
        + (this["inconsistencies"] is { } count ? $", inconsistencies {count}" : "");

    private IEnumerable<string> TimesBy(string clock) =>
        Percentiles.Select(each => Text($"{clock}{each.Name}Ms"));
}
