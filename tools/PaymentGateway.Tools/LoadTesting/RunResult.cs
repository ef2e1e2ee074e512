using System.Text.Json;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>The figures that a simulation left in its folder.</summary>
public sealed class RunResult
{
    private readonly JsonElement _figures;

    private RunResult(string json)
    {
        Json = json;
        using var document = JsonDocument.Parse(json);
        _figures = document.RootElement.Clone();
    }

    public string Json { get; }

    /// <summary>Null when the run ended before it had figures.</summary>
    public static RunResult? In(string folder) =>
        Path.Combine(folder, "result.json") is var file && File.Exists(file) ? Of(File.ReadAllText(file)) : null;

    public static RunResult Of(string json) => new(json);

    /// <summary>A figure as it is written; null when the run has none of this name.</summary>
    public string? this[string name] =>
        _figures.TryGetProperty(name, out var figure) ? figure.ToString() : null;

    public double? Number(string name) =>
        _figures.TryGetProperty(name, out var figure) && figure.ValueKind == JsonValueKind.Number
            ? figure.GetDouble()
            : null;

    public string Text(string name) => this[name] ?? "-";

    /// <summary>The payments' p99 in each stage of an official load; none of another.</summary>
    public IReadOnlyList<(double FromSecond, double P99Ms)> Stages =>
        _figures.TryGetProperty("stages", out var stages)
            ? [.. stages.EnumerateArray().Select(stage =>
                (stage.GetProperty("fromSecond").GetDouble(), stage.GetProperty("p99Ms").GetDouble()))]
            : [];

    /// <summary>One line for the head of the picture.</summary>
    public string Headline(string simulation, string mode) =>
        $"{simulation} ({mode}): {this["accepted"]} payments, p50 {this["p50Ms"]} ms, p99 {this["p99Ms"]} ms"
        + (this["lag"] is { } lag ? $", lag {lag}" : "")
        + (this["inconsistencies"] is { } count ? $", inconsistencies {count}" : "");
}
