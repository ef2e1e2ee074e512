namespace PaymentGateway.Tests.Chaos;

/// <summary>What one instance and both processors said about one window.</summary>
/// <param name="Asked">Whom of the gateway: nginx, api1, api2.</param>
/// <param name="Gateway">Its answer, asked for before the processors' own.</param>
public sealed record ChaosAudit(
    string Asked, DateTimeOffset From, DateTimeOffset To, GatewaySummary Gateway, GatewaySummary Processors)
{
    // The order of the ledger's two clocks within one machine: a row is seen, and charged, well after its acceptance.
    private static readonly TimeSpan Margin = TimeSpan.FromMilliseconds(50);

    /// <summary>A summary as the official auditor asks for it; null where the answer is refused or late.</summary>
    public static async Task<GatewaySummary?> AskAsync(HttpClient http, DateTimeOffset from, DateTimeOffset to)
    {
        try
        {
            return await GatewaySummary.AskAsync(http, from, to).WaitAsync(TimeSpan.FromSeconds(1.5));
        }
        catch (Exception none) when (none is HttpRequestException or OperationCanceledException or TimeoutException
            or IOException)
        {
            return null;
        }
    }

    /// <summary>
    /// The end of the windows in which no outcome can be outstanding, and never can be again: before the oldest payment
    /// without a settlement was accepted. A payment is charged only after its row was seen, so what was not to be seen
    /// yet gets a later requestedAt, even when its INSERT stalled for long.
    /// </summary>
    /// <param name="askedAt">Before the ledger was asked for the oldest.</param>
    public static DateTimeOffset ClosedBefore(DateTimeOffset askedAt, DateTime? oldestUnsettled)
    {
        var closed = askedAt - Margin;
        return oldestUnsettled is { } unsettled && unsettled < closed.UtcDateTime
            ? new DateTimeOffset(unsettled).AddMicroseconds(-1)
            : closed;
    }

    /// <summary>Of a closed window: the same to the cent, whatever is being broken meanwhile.</summary>
    public string? DifferenceIfClosed() => Gateway == Processors ? null : Say("differ");

    /// <summary>Of any window: a settlement enters the ledger only after the processor has stored the charge.</summary>
    public string? ExcessInAnyWindow() => Exceeds(Gateway.Default, Processors.Default)
        || Exceeds(Gateway.Fallback, Processors.Fallback) ? Say("has more than the processors") : null;

    private static bool Exceeds(GatewayTotals ledger, GatewayTotals processor) =>
        ledger.TotalRequests > processor.TotalRequests || ledger.TotalAmount > processor.TotalAmount;

    private string Say(string what) => $"audit {From:O} to {To:O}, {Asked} {what}: {Gateway}, processors {Processors}";
}
