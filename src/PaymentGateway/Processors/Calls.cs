using PaymentGateway.Routing;

namespace PaymentGateway.Processors;

/// <summary>The tags of calls: their kind, and what came of them.</summary>
internal static class Calls
{
    public static readonly KeyValuePair<string, object?> Charge = new("call", "charge");
    public static readonly KeyValuePair<string, object?> LookUp = new("call", "look_up");
    public static readonly KeyValuePair<string, object?> Health = new("call", "health");
    public static readonly KeyValuePair<string, object?> Summary = new("call", "summary");

    private static readonly KeyValuePair<string, object?>[] OfCharges =
    [
        Outcome("settled"), Outcome("already_stored"), Outcome("refused"), Outcome("rejected"), Outcome("not_sent"),
        Outcome("in_doubt"),
    ];

    private static readonly KeyValuePair<string, object?>[] OfLookUps =
        [Outcome("found"), Outcome("not_found"), Outcome("unknown")];

    private static readonly KeyValuePair<string, object?> Reported = Outcome("reported");
    private static readonly KeyValuePair<string, object?> Unknown = Outcome("unknown");

    public static KeyValuePair<string, object?> Of(ChargeResult result) => OfCharges[(int)result];

    public static KeyValuePair<string, object?> Of(LookupResult result) => OfLookUps[(int)result];

    public static KeyValuePair<string, object?> Of(HealthReport? report) => report is null ? Unknown : Reported;

    public static KeyValuePair<string, object?> Of(SummaryResult result) =>
        result == SummaryResult.Reported ? Reported : Unknown;

    private static KeyValuePair<string, object?> Outcome(string name) => new("outcome", name);
}
