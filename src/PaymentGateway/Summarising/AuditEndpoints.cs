using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Summarising;

/// <summary>The auditor's two calls: GET /payments-summary and POST /purge-payments (contract.md).</summary>
internal static class AuditEndpoints
{
    public const string SummaryPath = "/payments-summary";
    public const string PurgePath = "/purge-payments";

    private static readonly TimeSpan HangUpNoticed = TimeSpan.FromMilliseconds(100);

    public static void AddAudit(this IServiceCollection services)
    {
        services.AddSingleton<LedgerSummary>();
        services.AddSingleton(provider => new SummaryQueries(
            provider.GetRequiredService<LedgerSummary>().SummariseAsync, provider.GetRequiredService<TimeProvider>()));
    }

    /// <param name="purgers">The group of callers who may purge.</param>
    public static void MapAudit(this IEndpointRouteBuilder routes, IEndpointRouteBuilder purgers)
    {
        var summaries = routes.ServiceProvider.GetRequiredService<SummaryQueries>();
        var lease = routes.ServiceProvider.GetRequiredService<Lease>();
        var ledger = routes.ServiceProvider.GetRequiredService<LedgerStateStore>();
        var metrics = routes.ServiceProvider.GetRequiredService<GatewayMetrics>();
        var clock = routes.ServiceProvider.GetRequiredService<TimeProvider>();
        routes.MapGetAndHead(SummaryPath, context => SummariseAsync(context, summaries, metrics, clock))
            .AnswerWithoutDatabase();
        purgers.MapPost(PurgePath, context => PurgeAsync(context, ledger, lease, clock));
    }

    private static async Task SummariseAsync(
        HttpContext context, SummaryQueries summaries, GatewayMetrics metrics, TimeProvider clock)
    {
        var reader = new QueryReader(context, Problems.InvalidWindow);
        var (from, to) = reader.Window();
        if (await reader.AnswerFirstFaultAsync())
            return;

        var askedAt = clock.GetTimestamp();
        PaymentsSummary? summary;
        try
        {
            summary = await summaries.AskAsync(new SummaryWindow(from, to));
        }
        catch (NotKeptException notKept)
        {
            await ProblemAnswer.WriteAsync(context, Problems.InvalidWindow, notKept.Message, notKept.Bound);
            return;
        }

        metrics.SummaryDuration.Record(clock.GetElapsedTime(askedAt).TotalSeconds);
        await (summary is null
            ? ProblemAnswer.WriteAsync(
                context, Problems.Overloaded, "Too many summaries are being asked for. Ask again.", null, 1)
            : JsonAnswer.WriteAsync(context, summary.ToJson(), GatewayJsonContext.Default.JsonObject));
    }

    public static async Task PurgeAsync(
        HttpContext context, LedgerStateStore ledger, Lease lease, TimeProvider clock)
    {
        // A frozen instance may have left the request in its socket while another instance acknowledged payments.
        if (!lease.IsTrusted)
        {
            await ProblemAnswer.WriteAsync(
                context, Problems.LedgerUnavailable, "This instance has no lease now. Try again.", null, 1);
            return;
        }

        // The deadline is read first, so that a purge after a freeze fails.
        var until = await ledger.PurgeUntilAsync();
        // A caller that hung up must not purge; Kestrel notices it only when it reads the socket again.
        await Task.Delay(HangUpNoticed, clock, context.RequestAborted);
        await ledger.PurgeAsync(until, context.RequestAborted);
        // This instance begins its next epoch at once, and others notice the purge at their next renewal.
        lease.CheckSoon.Set();
        context.Response.StatusCode = 200;
        context.Response.ContentLength = 0;
    }
}
