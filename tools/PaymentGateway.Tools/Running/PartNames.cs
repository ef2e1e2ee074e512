namespace PaymentGateway.Tools.Running;

/// <summary>What the parts of a system are called, on the command line, in files and in compose.</summary>
public static class PartNames
{
    public const string Default = "default";
    public const string Fallback = "fallback";
    public const string Postgres = "postgres";
    public const string First = "api1";
    public const string Second = "api2";
    public const string Nginx = "nginx";

    public static IReadOnlyList<string> Instances { get; } = [First, Second];

    /// <summary>Whose CPU and memory the challenge counts.</summary>
    public static IReadOnlyList<string> Counted { get; } = [Nginx, First, Second, Postgres];
}
