namespace PaymentGateway.Storage;

/// <summary>A payment's position in the order of all: by its acceptance (UTC, microseconds), then its id.</summary>
internal sealed record PaymentCursor(DateTime AcceptedAt, Guid Id)
{
    /// <summary>Before every payment.</summary>
    public static readonly PaymentCursor Start = new(DateTime.UnixEpoch, Guid.Empty);

    /// <summary>After every payment; the end of DateTime travels as infinity.</summary>
    public static readonly PaymentCursor End =
        new(DateTime.SpecifyKind(DateTime.MaxValue, DateTimeKind.Utc), Guid.Empty);
}
