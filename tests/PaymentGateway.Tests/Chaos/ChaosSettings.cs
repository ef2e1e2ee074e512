namespace PaymentGateway.Tests.Chaos;

/// <summary>The run, from the environment; otherwise short, durable and with two processors.</summary>
/// <param name="LedgerFile">Where the ledger is written, too; logs of a run that failed go beside it.</param>
public sealed record ChaosSettings(
    int Seed, bool Durable, TimeSpan Length, string? LedgerFile, IReadOnlySet<ChaosKind> Without, bool Purges,
    int Processors)
{
    private const string Purge = "purge";

    public static ChaosSettings Read()
    {
        var profile = Text("CHAOS_PROFILE") ?? "durable";
        if (profile is not ("durable" or "unlogged"))
            throw new InvalidOperationException($"CHAOS_PROFILE is '{profile}'; it may be durable or unlogged");

        var without = Names(Text("CHAOS_WITHOUT"));
        return new ChaosSettings(
            Number("CHAOS_SEED", 1), profile == "durable", TimeSpan.FromSeconds(Number("CHAOS_SECONDS", 75)),
            Text("CHAOS_LEDGER"), Kinds(without), !without.Contains(Purge), Number("CHAOS_PROCESSORS", 2));
    }

    /// <summary>The kinds named in a list such as stalled-backend,purge; a purge is no kind of step.</summary>
    /// <exception cref="InvalidOperationException">Nothing has such a name: it would be left out silently.</exception>
    public static IReadOnlySet<ChaosKind> Kinds(IEnumerable<string> names) => names.Where(name => name != Purge)
        .Select(name => Enum.TryParse<ChaosKind>(name.Replace("-", "", StringComparison.Ordinal), true, out var kind)
            ? kind
            : throw new InvalidOperationException($"CHAOS_WITHOUT names '{name}', which is no kind of step"))
        .ToHashSet();

    private static string[] Names(string? list) =>
        (list ?? "").Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);

    private static int Number(string name, int otherwise) =>
        Text(name) is { } text ? int.Parse(text, CultureInfo.InvariantCulture) : otherwise;

    private static string? Text(string name) => Environment.GetEnvironmentVariable(name) is { Length: > 0 } text
        ? text
        : null;
}
