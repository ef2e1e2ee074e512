namespace PaymentGateway.Metering;

/// <summary>The tags of the instruments; made once, so that none is made for a payment.</summary>
internal static class Tags
{
    private static readonly KeyValuePair<string, object?> Default = new("processor", "default");
    private static readonly KeyValuePair<string, object?> Fallback = new("processor", "fallback");

    public static KeyValuePair<string, object?> Of(Processor processor) =>
        processor == Processor.Default ? Default : Fallback;
}

/// <summary>Why a payment was refused.</summary>
internal static class Reasons
{
    /// <summary>400: the body is no payment.</summary>
    public static readonly KeyValuePair<string, object?> Invalid = new("reason", "invalid");

    /// <summary>413, 408 or 400: the body was too large, too slow or broken off.</summary>
    public static readonly KeyValuePair<string, object?> Unreadable = new("reason", "unreadable");

    /// <summary>415: the body is no JSON.</summary>
    public static readonly KeyValuePair<string, object?> MediaType = new("reason", "media_type");

    /// <summary>409: the correlationId is known with another amount.</summary>
    public static readonly KeyValuePair<string, object?> Conflict = new("reason", "conflict");

    /// <summary>503: too many wait, or no statement answers.</summary>
    public static readonly KeyValuePair<string, object?> Overloaded = new("reason", "overloaded");

    /// <summary>503: it could not be stored in time.</summary>
    public static readonly KeyValuePair<string, object?> Unavailable = new("reason", "unavailable");

    public static readonly KeyValuePair<string, object?>[] All =
        [Invalid, Unreadable, MediaType, Conflict, Overloaded, Unavailable];
}

/// <summary>How a doubt ended.</summary>
internal static class Resolutions
{
    /// <summary>A look-up found the charge.</summary>
    public static readonly KeyValuePair<string, object?> Found = new("resolution", "found");

    /// <summary>The same charge again at the same processor was stored.</summary>
    public static readonly KeyValuePair<string, object?> ChargedAgain = new("resolution", "charged_again");

    /// <summary>After the horizon nobody had stored it: it is charged anew.</summary>
    public static readonly KeyValuePair<string, object?> NotCharged = new("resolution", "not_charged");

    public static readonly KeyValuePair<string, object?>[] All = [Found, ChargedAgain, NotCharged];
}

/// <summary>The differences that a reconciliation names, and what becomes of it.</summary>
internal static class DifferenceTags
{
    public static readonly string[] Outcomes = ["agrees", "differs", "repaired", "stopped"];

    public static readonly string[] Kinds =
    [
        "unrecorded", "absent", "misplaced", "charged_twice", "amount", "requested_at", "unknown", "sums",
    ];

    public static KeyValuePair<string, object?> Kind(string kind) => new("kind", kind);

    /// <summary>recorded, corrected, put_back or left.</summary>
    public static KeyValuePair<string, object?> Repair(string repair) => new("repair", repair);
}
