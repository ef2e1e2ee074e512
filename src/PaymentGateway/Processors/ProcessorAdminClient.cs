using System.Globalization;
using System.Net;
using System.Text.Json;
using PaymentGateway.Configuration;
using PaymentGateway.Leasing;
using PaymentGateway.Routing;
using PaymentGateway.Telemetry;

namespace PaymentGateway.Processors;

/// <summary>
/// Asks one processor what it has stored, as its administrator and one call at a time. It has a connection, a time
/// limit and a breaker of its own, so whatever comes of its calls is nothing to those that charge.
/// </summary>
internal sealed class ProcessorAdminClient : IDisposable
{
    private readonly HttpMessageInvoker _http;
    private readonly ProcessorClient _lookUps;
    private readonly Uri _summary;
    private readonly string _token;
    private readonly GatewayMetrics _metrics;

    public ProcessorAdminClient(
        Processor processor, GatewayOptions options, Lease lease, GatewayMetrics metrics, TimeProvider clock,
        ILogger<CallGuardHandler> log)
    {
        var connections = new SocketsHttpHandler { MaxConnectionsPerServer = 1 };
        ProcessorSetup.Tune(connections, options.Settling);
        _http = new HttpMessageInvoker(new CallGuardHandler(
            processor, new ProcessorHealth(clock, options.Routing), options.Routing, options.Settling.CallTimeout,
            clock, log)
        {
            InnerHandler = connections,
        });
        _lookUps = new ProcessorClient(_http, options.Of(processor).Url, processor, lease, clock);
        _summary = new Uri(options.Of(processor).Url, "admin/payments-summary");
        _token = options.Of(processor).AdminToken
            ?? throw new InvalidOperationException("Reconciliation is off.");
        _metrics = metrics;
    }

    public Processor Processor => _lookUps.Processor;

    /// <summary>Count and sum of what has a requestedAt in a window; both bounds are inclusive, UTC.</summary>
    public async Task<SummaryOutcome> SumAsync(DateTime from, DateTime to)
    {
        var outcome = await AskAsync(from, to);
        _metrics.Calls.Add(1, Tags.Of(Processor), Calls.Summary, Calls.Of(outcome.Result));
        return outcome;
    }

    /// <summary>Whether the processor has a payment, and how.</summary>
    public async Task<LookupOutcome> LookUpAsync(Guid id)
    {
        var outcome = await _lookUps.LookUpAsync(id);
        _metrics.Calls.Add(1, Tags.Of(Processor), Calls.LookUp, Calls.Of(outcome.Result));
        return outcome;
    }

    public void Dispose() => _http.Dispose();

    private async Task<SummaryOutcome> AskAsync(DateTime from, DateTime to)
    {
        try
        {
            var url = string.Create(
                CultureInfo.InvariantCulture, $"{_summary}?from={from:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'}")
                + string.Create(CultureInfo.InvariantCulture, $"&to={to:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'}");
            using var request = new HttpRequestMessage(HttpMethod.Get, new Uri(url));
            request.Headers.TryAddWithoutValidation("X-Rinha-Token", _token);
            using var response = await _http.SendAsync(request, CancellationToken.None);
            if (response.StatusCode is HttpStatusCode.Unauthorized or HttpStatusCode.Forbidden)
                return new SummaryOutcome(SummaryResult.Refused);

            return response.StatusCode == HttpStatusCode.OK
                && JsonSerializer.Deserialize(
                    CallGuardHandler.AnswerOf(response), ProcessorJsonContext.Default.AdminSummary) is { } summary
                ? new SummaryOutcome(SummaryResult.Reported, summary.TotalRequests, summary.TotalAmount * 100m)
                : new SummaryOutcome(SummaryResult.Unknown);
        }
        catch (Exception)
        {
            // Whatever it was, it says nothing.
            return new SummaryOutcome(SummaryResult.Unknown);
        }
    }
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
