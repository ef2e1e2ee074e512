using PaymentGateway.Configuration;
using PaymentGateway.Leasing;
using PaymentGateway.Routing;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Processors;

/// <summary>
/// Asks one processor what it has stored, as its administrator and one call at a time. It has a connection, a time
/// limit and a breaker of its own, so whatever comes of its calls is nothing to those that charge.
/// </summary>
internal sealed class ProcessorAdminClient(
    Processor processor, GatewayOptions options, Lease lease, GatewayMetrics metrics, TimeProvider clock,
    ILogger<ProcessorClient> log) : IDisposable
{
    private readonly ProcessorClient _client = new(
        processor, options, ProcessorClient.Connect(options.Settling, most: 1),
        new ProcessorHealth(clock, options.Routing), lease, metrics, clock, log);

    private readonly Uri _summary = new(options.Processors.Of(processor).Url, "admin/payments-summary");

    public Processor Processor => processor;

    /// <summary>Count and sum of what has a requestedAt in a window; both bounds are inclusive, UTC.</summary>
    public async Task<SummaryOutcome> SumAsync(DateTime from, DateTime to)
    {
        var window = string.Create(
            CultureInfo.InvariantCulture,
            $"?from={from:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'}&to={to:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'}");
        var answer = await _client.GetAsync(new Uri(_summary, window), options.Processors.Of(processor).AdminToken);
        var summary = answer?.Status == 200 ? answer.Read(ProcessorJsonContext.Default.AdminSummary) : null;
        metrics.Calls.Add(1, Tags.Of(processor), Calls.Summary, summary is null ? Calls.Unknown : Calls.Reported);
        if (summary is not null)
            return new SummaryOutcome(SummaryResult.Reported, summary.TotalRequests, summary.TotalAmount * 100m);

        return new SummaryOutcome(answer?.Status is 401 or 403 ? SummaryResult.Refused : SummaryResult.Unknown);
    }

    public Task<LookupOutcome> LookUpAsync(Guid id) => _client.LookUpAsync(id);

    public void Dispose() => _client.Dispose();
}

/// <summary>What a question for a summary came to.</summary>
internal enum SummaryResult
{
    /// <summary>200: the sums are the processor's.</summary>
    Reported,

    /// <summary>401 or 403: the token is wrong.</summary>
    Refused,

    /// <summary>No answer that says anything.</summary>
    Unknown,
}

/// <summary>A summary of a processor; Cents is exact.</summary>
internal readonly record struct SummaryOutcome(SummaryResult Result, long Payments = 0, decimal Cents = 0);
