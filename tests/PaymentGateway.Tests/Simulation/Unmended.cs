namespace PaymentGateway.Tests.Simulation;

/// <summary>What the gateway is known not to stand yet; FAULTS=Told,Foreign plays these too.</summary>
internal static class Unmended
{
    private static readonly string[] Played = (Environment.GetEnvironmentVariable("FAULTS") ?? "").Split(',');

    public static bool Plays(string name) => Played.Contains(name);

    public static T[] Or<T>(string name, params T[] faults) => Plays(name) ? faults : [];
}
