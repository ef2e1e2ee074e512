using PaymentGateway.Operator.Admin;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Reconciliation;

/// <summary>
/// POST /admin/reconciliations, an operator's call. It may take minutes, so the answer is one JSON object whose member
/// progress grows by an entry each second, and whose member report comes last. Hanging up ends the run.
/// </summary>
internal static class ReconciliationEndpoint
{
    public const string Path = "/admin/reconciliations";

    // nginx waits 3 s for the next byte, and asks the other instance when there was none.
    private static readonly TimeSpan Beat = TimeSpan.FromSeconds(1);

    public static void AddReconciliations(this IServiceCollection services) =>
        services.AddSingleton<ReconciliationRun>();

    public static void MapReconciliations(this IEndpointRouteBuilder admin)
    {
        var reconciliation = admin.ServiceProvider.GetRequiredService<ReconciliationRun>();
        var options = admin.ServiceProvider.GetRequiredService<GatewayOptions>();
        var clock = admin.ServiceProvider.GetRequiredService<TimeProvider>();
        var stopping = admin.ServiceProvider.GetRequiredService<IHostApplicationLifetime>().ApplicationStopping;
        admin.MapPost(Path, async context =>
        {
            if (!options.Processors.CanReconcile)
            {
                await ProblemAnswer.WriteAsync(
                    context, Problems.ReconciliationOff,
                    "Set " + string.Join(" and ", options.Processors.All.Select(
                        one => $"Gateway__Processors__{one.Processor}__AdminToken")) + ".");
                return;
            }

            if (await ReconciliationQuery.ReadAsync(context, reconciliation.ClosedUntil) is not { } query)
                return;

            if (await ReconciliationStore.OpenAsync(options) is not { } ledger)
            {
                await ProblemAnswer.WriteAsync(
                    context, Problems.ReconciliationRunning, "Another reconciliation runs. Try again when it ended.");
                return;
            }

            using var ended = CancellationTokenSource.CreateLinkedTokenSource(context.RequestAborted, stopping);
            var progress = new ReconciliationProgress();
            var run = reconciliation.RunAsync(ledger, query, progress, ended.Token);
            try
            {
                await AnswerAsync(context, run, progress, clock);
            }
            finally
            {
                await ended.CancelAsync();
                await run;
            }
        });
    }

    private static async Task AnswerAsync(
        HttpContext context, Task<ReconciliationReport> run, ReconciliationProgress progress, TimeProvider clock)
    {
        await Task.WhenAny(run, Task.Delay(Beat, clock, CancellationToken.None));
        if (run.IsCompleted && await run is { IsCompared: false, Stop: { Problem: { } problem } stopped })
        {
            await ProblemAnswer.WriteAsync(
                context, problem, stopped.Message, stopped.Parameter, stopped.RetryAfterSeconds);
            return;
        }

        // The beats must reach the client through nginx, which would buffer them.
        context.Response.Headers["X-Accel-Buffering"] = "no";
        context.Response.ContentType = "application/json; charset=utf-8";
        JsonAnswer.SetHeaders(context.Response);
        await WriteAsync(context, "{\"progress\":[");
        for (var separator = "\n"; !run.IsCompleted; separator = ",\n")
        {
            await WriteAsync(
                context, separator + JsonSerializer.Serialize(
                    progress, ReconciliationJsonContext.Default.ReconciliationProgress));
            await context.Response.Body.FlushAsync(CancellationToken.None);
            await Task.WhenAny(run, Task.Delay(Beat, clock, CancellationToken.None));
        }

        var report = await run;
        OperatorCalls.Tell(context, report.Outcome);
        await WriteAsync(context, "],\n\"report\":");
        await JsonSerializer.SerializeAsync(
            context.Response.Body, report, ReconciliationJsonContext.Default.ReconciliationReport,
            CancellationToken.None);
        await WriteAsync(context, "}\n");
    }

    private static Task WriteAsync(HttpContext context, string text) =>
        context.Response.WriteAsync(text, CancellationToken.None);
}
