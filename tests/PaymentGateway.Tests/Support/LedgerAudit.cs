namespace PaymentGateway.Tests.Support;

public sealed record GatewayTotals(long TotalRequests, decimal TotalAmount)
{
    public bool Covers(GatewayTotals other) =>
        TotalRequests >= other.TotalRequests && TotalAmount >= other.TotalAmount;
}

public sealed record GatewaySummary(GatewayTotals Default, GatewayTotals Fallback)
{
    public bool Covers(GatewaySummary other) => Default.Covers(other.Default) && Fallback.Covers(other.Fallback);

    public static async Task<GatewaySummary> AskAsync(
        HttpClient http, DateTimeOffset? from = null, DateTimeOffset? to = null)
    {
        var bounds = string.Join('&', Bound("from", from), Bound("to", to));
        return (await http.GetFromJsonAsync<GatewaySummary>($"payments-summary?{bounds}"))!;
    }

    /// <summary>The summaries of both processors in the gateway's form.</summary>
    public static async Task<GatewaySummary> OfProcessorsAsync(
        SimulatedProcessor atDefault, SimulatedProcessor atFallback,
        DateTimeOffset? from = null, DateTimeOffset? to = null) => new(
        Totals(await atDefault.SummariseAsync(from, to)), Totals(await atFallback.SummariseAsync(from, to)));

    public static GatewayTotals Totals(ProcessorSummary summary) => new(summary.TotalRequests, summary.TotalAmount);

    private static string Bound(string name, DateTimeOffset? time) => time is { } bound
        ? string.Create(CultureInfo.InvariantCulture, $"{name}={bound.UtcDateTime:yyyy-MM-dd'T'HH:mm:ss.fffffff'Z'}")
        : "";
}

/// <summary>The contract's audit: gateway and both processors, asked at one moment about one window.</summary>
public sealed record LedgerAudit(GatewaySummary Gateway, GatewayTotals Default, GatewayTotals Fallback)
{
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(1.5);

    /// <summary>Counts that differ, per processor: stricter than the contract's sum over both.</summary>
    public long Inconsistencies =>
        Math.Abs(Gateway.Default.TotalRequests - Default.TotalRequests)
        + Math.Abs(Gateway.Fallback.TotalRequests - Fallback.TotalRequests);

    public bool Agrees => Gateway == Processors;

    public GatewaySummary Processors => new(Default, Fallback);

    /// <summary>
    /// The window of the contract's audit, of this moment. In milliseconds, as a browser's clock gives them: gateway
    /// and processors must not round the bounds differently.
    /// </summary>
    public static (DateTimeOffset From, DateTimeOffset To) OfficialWindow()
    {
        var now = DateTimeOffset.FromUnixTimeMilliseconds(DateTimeOffset.UtcNow.ToUnixTimeMilliseconds());
        return (now.AddSeconds(-15), now.AddSeconds(-1.5));
    }

    /// <summary>Each of the three has 1.5 s to answer, as in the contract.</summary>
    public static async Task<LedgerAudit> TakeAsync(
        GatewaySystem system, DateTimeOffset? from = null, DateTimeOffset? to = null)
    {
        var gateway = InTimeAsync(GatewaySummary.AskAsync(system.Client, from, to));
        var byDefault = InTimeAsync(system.Default.SummariseAsync(from, to));
        var byFallback = InTimeAsync(system.Fallback.SummariseAsync(from, to));
        return new LedgerAudit(
            await gateway, GatewaySummary.Totals(await byDefault), GatewaySummary.Totals(await byFallback));

        static Task<T> InTimeAsync<T>(Task<T> summary) => InTime.EndsAsync(AnswerLimit, summary, "a summary");
    }
}
