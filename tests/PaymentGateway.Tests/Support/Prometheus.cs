namespace PaymentGateway.Tests.Support;

/// <summary>The Prometheus of this machine, and the format that it reads.</summary>
internal static class Prometheus
{
    private static readonly string[] Programs = ["prometheus", "promtool"];

    public static string? SkipReason { get; } =
        Array.TrueForAll(Programs, PaymentGateway.Tools.Programs.Has)
            ? null
            : "lacks prometheus: eng/setup tests brings it";

    public static async Task CheckAsync(string[] arguments, string? input = null)
    {
        var checkedBy = await Shell.RunAsync(["promtool", .. arguments], input: input);

        Assert.True(checkedBy.Succeeded, checkedBy.Output + checkedBy.Errors);
    }

    /// <summary>The samples of an exposition, each by its name with its labels.</summary>
    public static Dictionary<string, double> Read(string text) => text
        .Split('\n', StringSplitOptions.RemoveEmptyEntries)
        .Where(line => !line.StartsWith('#'))
        .Select(line => (Line: line, End: line.LastIndexOf(' ')))
        .ToDictionary(
            sample => sample.Line[..sample.End],
            sample => double.Parse(sample.Line[(sample.End + 1)..], CultureInfo.InvariantCulture));
}

public sealed class PrometheusFactAttribute()
    : NeedsFactAttribute(Postgres, PostgresServer.SkipReason ?? Prometheus.SkipReason);

public sealed class PrometheusSystemFactAttribute()
    : NeedsFactAttribute(WholeSystem, GatewaySystemParts.SkipReason ?? Prometheus.SkipReason);
