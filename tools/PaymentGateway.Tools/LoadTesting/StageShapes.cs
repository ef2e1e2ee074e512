using System.Globalization;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>The stages of a run as gnuplot's commands: bands of colour, and words above them.</summary>
public static class StageShapes
{
    // With more stages the words would lie over each other.
    private const int LabelsMax = 12;

    private const string Look = """offset 0.4,1.6 font "DejaVu Sans,8" textcolor rgb "#5c626b" """;

    /// <param name="table">from,to,defaultDelay,defaultFailing,fallbackDelay,fallbackFailing, below a head.</param>
    public static IEnumerable<string> Of(IReadOnlyCollection<string> table)
    {
        var number = 1;
        foreach (var line in table.Skip(1))
        {
            number++;
            var cells = line.Split(',');
            var (first, second) = (Health.Of(cells[2], cells[3]), Health.Of(cells[4], cells[5]));
            if (Colour(first, second) is { } colour)
                yield return $"set object {number} rect from {cells[0]}, graph 0 to {cells[1]}, graph 1 "
                    + $"behind fc rgb \"{colour}\" fs solid noborder";
            if (table.Count <= LabelsMax + 1)
                yield return $"set label {number + 99} \"default {first.Word}\\nfallback {second.Word}\" "
                    + $"at {cells[0]}, graph 1 {Look.TrimEnd()}";
        }
    }

    // Red where default fails, amber where it is slow, darker red where both fail, blue for fallback alone.
    private static string? Colour(Health first, Health second) => (first, second) switch
    {
        ({ Fails: true }, { Fails: true }) => "#f2c4c8",
        ({ Fails: true }, _) => "#fae0e2",
        ({ DelayMs: >= 100 }, _) => "#fdf1d8",
        (_, { DelayMs: >= 1000 } or { Fails: true }) => "#eef3fa",
        _ => null,
    };

    /// <summary>What a processor is told to do in a stage.</summary>
    private readonly record struct Health(int DelayMs, bool Fails)
    {
        public string Word => Fails ? "fails" : DelayMs > 0 ? $"{DelayMs} ms" : "ok";

        public static Health Of(string delay, string fails) =>
            new(int.Parse(delay, CultureInfo.InvariantCulture), fails == "1");
    }
}
