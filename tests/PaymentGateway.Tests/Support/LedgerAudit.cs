namespace PaymentGateway.Tests.Support;

public sealed record GatewayTotals(long TotalRequests, decimal TotalAmount)
{
    public bool Covers(GatewayTotals other) =>
        TotalRequests >= other.TotalRequests && TotalAmount >= other.TotalAmount;
}

/// <summary>Totals by the names of the processors; equal when these are the same, and all totals.</summary>
public sealed record GatewaySummary(IReadOnlyDictionary<string, GatewayTotals> ByProcessor)
{
    public GatewayTotals Default => ByProcessor[PartNames.Default];

    public GatewayTotals Fallback => ByProcessor[PartNames.Fallback];

    public long TotalRequests => ByProcessor.Values.Sum(totals => totals.TotalRequests);

    public bool Covers(GatewaySummary other) => other.ByProcessor.All(
        one => ByProcessor.TryGetValue(one.Key, out var own) && own.Covers(one.Value));

    public bool Equals(GatewaySummary? other) => other is not null && Covers(other) && other.Covers(this);

    public override int GetHashCode() => TotalRequests.GetHashCode();

    public override string ToString() => string.Join(", ", ByProcessor.Select(one => $"{one.Key} {one.Value}"));

    public static async Task<GatewaySummary> AskAsync(
        HttpClient http, DateTimeOffset? from = null, DateTimeOffset? to = null)
    {
        var bounds = string.Join('&', Bound("from", from), Bound("to", to));
        return new(
            (await http.GetFromJsonAsync<Dictionary<string, GatewayTotals>>($"payments-summary?{bounds}"))!);
    }

    /// <summary>The summaries of all processors at once, in the gateway's form.</summary>
    public static async Task<GatewaySummary> OfProcessorsAsync(
        IReadOnlyDictionary<string, SimulatedProcessor> processors,
        DateTimeOffset? from = null, DateTimeOffset? to = null) => new(
        (await Task.WhenAll(processors.Select(
            async one => (one.Key, Totals(await one.Value.SummariseAsync(from, to)))))).ToDictionary());

    private static GatewayTotals Totals(ProcessorSummary summary) => new(summary.TotalRequests, summary.TotalAmount);

    private static string Bound(string name, DateTimeOffset? time) => time is { } bound
        ? string.Create(CultureInfo.InvariantCulture, $"{name}={bound.UtcDateTime:yyyy-MM-dd'T'HH:mm:ss.fffffff'Z'}")
        : "";
}

/// <summary>The contract's audit: gateway and processors, asked at one moment about one window.</summary>
public sealed record LedgerAudit(GatewaySummary Gateway, GatewaySummary Processors)
{
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(1.5);

    /// <summary>Counts that differ, per processor: stricter than the contract's sum over both.</summary>
    public long Inconsistencies => Gateway.ByProcessor.Keys.Union(Processors.ByProcessor.Keys).Sum(
        name => Math.Abs(Requests(Gateway, name) - Requests(Processors, name)));

    public bool Agrees => Gateway == Processors;

    /// <summary>The contract's window, in milliseconds: gateway and processors must not round it differently.</summary>
    public static (DateTimeOffset From, DateTimeOffset To) OfficialWindow()
    {
        var now = DateTimeOffset.FromUnixTimeMilliseconds(DateTimeOffset.UtcNow.ToUnixTimeMilliseconds());
        return (now.AddSeconds(-15), now.AddSeconds(-1.5));
    }

    private static long Requests(GatewaySummary summary, string name) =>
        summary.ByProcessor.GetValueOrDefault(name)?.TotalRequests ?? 0;

    /// <summary>Each has 1.5 s to answer, as in the contract.</summary>
    public static async Task<LedgerAudit> TakeAsync(
        GatewaySystem system, DateTimeOffset? from = null, DateTimeOffset? to = null)
    {
        var gateway = InTimeAsync(GatewaySummary.AskAsync(system.Client, from, to));
        var processors = InTimeAsync(GatewaySummary.OfProcessorsAsync(system.Processors, from, to));
        return new LedgerAudit(await gateway, await processors);

        static Task<T> InTimeAsync<T>(Task<T> summary) => InTime.EndsAsync(AnswerLimit, summary, "a summary");
    }
}
