using System.Globalization;

namespace PaymentGateway.Tools.Chaos;

/// <summary>Which runs of the chaos rig: a seed, one profile or both in turn, and seconds each.</summary>
public sealed record ChaosOptions(int Seed, IReadOnlyList<string> Profiles, int Seconds)
{
    private const string Usage =
        "usage: eng/tool chaos [SEED [durable|unlogged|both [SECONDS]]], such as eng/tool chaos 1 durable 280";

    /// <exception cref="ToolException">An argument is none of these, or there are more.</exception>
    public static ChaosOptions Parse(IReadOnlyList<string> arguments)
    {
        if (arguments.Count > 3)
            throw new ToolException(Usage);
        var profile = arguments.ElementAtOrDefault(1) ?? "both";
        IReadOnlyList<string> profiles = profile switch
        {
            "both" => ["durable", "unlogged"],
            "durable" or "unlogged" => [profile],
            _ => throw new ToolException(Usage),
        };
        return new ChaosOptions(Number(arguments, 0, 1), profiles, Number(arguments, 2, 280));
    }

    private static int Number(IReadOnlyList<string> arguments, int at, int otherwise) =>
        arguments.ElementAtOrDefault(at) is not { } text
            ? otherwise
            : int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
                ? number
                : throw new ToolException(Usage);
}
