using System.Globalization;

namespace PaymentGateway.Tests.Chaos;

/// <summary>Which run it is: from the environment, short and durable when nothing is said.</summary>
/// <param name="LedgerFile">Where the ledger is written, too; logs of a run that failed go beside it.</param>
public sealed record ChaosSettings(int Seed, bool Durable, TimeSpan Length, string? LedgerFile)
{
    public static ChaosSettings Read()
    {
        var profile = Text("CHAOS_PROFILE") ?? "durable";
        if (profile is not ("durable" or "unlogged"))
            throw new InvalidOperationException($"CHAOS_PROFILE is '{profile}'; it may be durable or unlogged");

        return new ChaosSettings(
            int.Parse(Text("CHAOS_SEED") ?? "1", CultureInfo.InvariantCulture), profile == "durable",
            TimeSpan.FromSeconds(int.Parse(Text("CHAOS_SECONDS") ?? "75", CultureInfo.InvariantCulture)),
            Text("CHAOS_LEDGER"));
    }

    private static string? Text(string name) => Environment.GetEnvironmentVariable(name) is { Length: > 0 } text
        ? text
        : null;
}
