using System.Text.Json.Serialization;

namespace ProcessorSimulator.Auditing;

/// <summary>
/// The body of PUT /admin/faults: what is left out is off, and an unknown field is refused. Garbage, trickle and
/// tooMany are true or false.
/// </summary>
[JsonUnmappedMemberHandling(JsonUnmappedMemberHandling.Disallow)]
internal sealed record FaultSettings
{
    public static FaultSettings None { get; } = new();

    public BeforeInsertFault BeforeInsert { get; init; }

    public AfterInsertFault AfterInsert { get; init; }

    /// <summary>200 with a body that is not JSON, nothing inserted.</summary>
    public bool Garbage { get; init; }

    /// <summary>Inserted, then the 200 at one byte per 500 ms.</summary>
    public bool Trickle { get; init; }

    /// <summary>After the delay 429 with Retry-After: 1.</summary>
    public bool TooMany { get; init; }

    /// <summary>After the delay this 4xx with a body, nothing inserted: what refuses may stand in front.</summary>
    public int? Status { get; init; }

    public HealthFault Health { get; init; }

    public LookUpFault LookUp { get; init; }

    /// <summary>Seconds for which connections stay unanswered; open ones end, but for that of this call.</summary>
    public int? Unanswered { get; init; }

    /// <summary>The payment faults hit only so many of the POSTs that arrive next; null is all of them.</summary>
    public int? Times { get; init; }

    [JsonIgnore]
    public bool HitsPayments =>
        BeforeInsert != BeforeInsertFault.None || AfterInsert != AfterInsertFault.None
        || Garbage || Trickle || TooMany || Status is not null;
}
