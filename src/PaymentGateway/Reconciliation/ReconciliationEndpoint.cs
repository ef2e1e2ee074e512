using System.Text.Json;
using PaymentGateway.Admin;
using PaymentGateway.Configuration;
using PaymentGateway.Http;
using PaymentGateway.Storage;

namespace PaymentGateway.Reconciliation;

/// <summary>
/// POST /admin/reconciliations, an operator's call. It may take minutes, so the answer begins before the end: one JSON
/// object whose member progress grows by an entry each second, and whose member report comes last. Who hangs up ends
/// it.
/// </summary>
internal static class ReconciliationEndpoint
{
    public const string Path = "/admin/reconciliations";

    // nginx waits 3 s for the next byte, and asks the other instance where it has none.
    private static readonly TimeSpan Beat = TimeSpan.FromSeconds(1);

    private static readonly byte[] Begin = "{\"progress\":["u8.ToArray();
    private static readonly byte[] First = "\n"u8.ToArray();
    private static readonly byte[] Next = ",\n"u8.ToArray();
    private static readonly byte[] Report = "],\n\"report\":"u8.ToArray();
    private static readonly byte[] End = "}\n"u8.ToArray();

    /// <param name="admin">The group of an operator's calls.</param>
    public static void MapReconciliations(this IEndpointRouteBuilder admin)
    {
        var reconciliation = admin.ServiceProvider.GetRequiredService<ReconciliationRun>();
        var options = admin.ServiceProvider.GetRequiredService<GatewayOptions>();
        var clock = admin.ServiceProvider.GetRequiredService<TimeProvider>();
        var stopping = admin.ServiceProvider.GetRequiredService<IHostApplicationLifetime>().ApplicationStopping;
        admin.MapPost(Path, async context =>
        {
            if (!options.Reconciling.IsOn)
            {
                await ProblemAnswer.WriteAsync(
                    context, Problems.ReconciliationOff,
                    "Set Gateway__Processors__Default__AdminToken and Gateway__Processors__Fallback__AdminToken.");
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
            var run = RunAsync(reconciliation, ledger, query, progress, ended.Token);
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

    // The lock is let go before the answer is whole: whoever has it may ask for the next one.
    private static async Task<ReconciliationReport> RunAsync(
        ReconciliationRun reconciliation, ReconciliationStore ledger, ReconciliationQuery query,
        ReconciliationProgress progress, CancellationToken cancellation)
    {
        await using (ledger)
            return await reconciliation.RunAsync(ledger, query, progress, cancellation);
    }

    private static async Task AnswerAsync(
        HttpContext context, Task<ReconciliationReport> run, ReconciliationProgress progress, TimeProvider clock)
    {
        await Task.WhenAny(run, Task.Delay(Beat, clock, CancellationToken.None));
        if (run.IsCompleted && !progress.HasBegun && (await run).Stopped is { } stopped
            && await RefusesAsync(context, stopped))
            return;

        // The beats must reach the client through nginx, which would buffer them.
        context.Response.Headers["X-Accel-Buffering"] = "no";
        context.Response.ContentType = "application/json; charset=utf-8";
        JsonAnswer.SetHeaders(context.Response);
        await WriteAsync(context, Begin);
        for (var beats = 0; !run.IsCompleted; beats++)
        {
            await WriteAsync(context, beats == 0 ? First : Next);
            await JsonSerializer.SerializeAsync(
                context.Response.Body, new ProgressAnswer(progress.Phase, progress.Calls, progress.At),
                ReconciliationJsonContext.Default.ProgressAnswer, CancellationToken.None);
            await context.Response.Body.FlushAsync(CancellationToken.None);
            await Task.WhenAny(run, Task.Delay(Beat, clock, CancellationToken.None));
        }

        await WriteAsync(context, Report);
        var answer = (await run).ToAnswer();
        OperatorCalls.Tell(context, answer.Outcome);
        await JsonSerializer.SerializeAsync(
            context.Response.Body, answer, ReconciliationJsonContext.Default.ReconciliationAnswer,
            CancellationToken.None);
        await WriteAsync(context, End);
    }

    private static Task WriteAsync(HttpContext context, byte[] bytes) =>
        context.Response.Body.WriteAsync(bytes, CancellationToken.None).AsTask();

    /// <returns>False: what stopped it is told in the report.</returns>
    private static async Task<bool> RefusesAsync(HttpContext context, StoppedException stopped)
    {
        switch (stopped.Reason)
        {
            case StopReason.TokenRefused:
                await ProblemAnswer.WriteAsync(context, Problems.ProcessorTokenWrong, stopped.Message);
                return true;
            case StopReason.ProcessorUnavailable:
                await ProblemAnswer.WriteAsync(context, Problems.ProcessorUnavailable, stopped.Message, null, 5);
                return true;
            case StopReason.NotKept:
                await ProblemAnswer.WriteAsync(context, Problems.InvalidWindow, stopped.Message, stopped.Parameter);
                return true;
            case StopReason.LedgerUnavailable:
                await ProblemAnswer.WriteUnavailableAsync(context);
                return true;
            default:
                return false;
        }
    }
}

/// <summary>
/// What is reconciled: a window of requestedAt, both bounds inclusive, UTC; absent is as far as possible.
/// </summary>
internal sealed record ReconciliationQuery(DateTime? From, DateTime? To, bool Repair)
{
    /// <summary>Reads the parameters from, to and repair; a wrong one is answered 400.</summary>
    /// <param name="context">The request.</param>
    /// <param name="closedUntil">A later `to` is refused.</param>
    /// <returns>Null when it is answered.</returns>
    public static async Task<ReconciliationQuery?> ReadAsync(HttpContext context, DateTime closedUntil)
    {
        var query = new ReconciliationQuery(null, null, false);
        foreach (var (name, values) in context.Request.Query)
        {
            if (query.With(name, values.Count == 1 ? values[0] : null) is not { } next)
            {
                await ProblemAnswer.WriteAsync(
                    context, Problems.InvalidQuery,
                    $"{name}: this call takes from and to, ISO 8601 timestamps, and repair, true or false, each once.",
                    name);
                return null;
            }

            query = next;
        }

        if (query.To > closedUntil)
            await RefuseAsync(context, "to", $"to may be {closedUntil:yyyy-MM-dd'T'HH:mm:ss.fff'Z'} now, and no later: "
                + "younger payments may be in flight.");
        else if (query.From > (query.To ?? closedUntil))
            await RefuseAsync(context, "from", query.To is null
                ? $"from is later than {closedUntil:yyyy-MM-dd'T'HH:mm:ss.fff'Z'}: younger payments may be in flight."
                : "from is later than to.");
        else
            return query;
        return null;
    }

    private static Task RefuseAsync(HttpContext context, string field, string detail) =>
        ProblemAnswer.WriteAsync(context, Problems.InvalidWindow, detail, field);

    private ReconciliationQuery? With(string name, string? value) => name switch
    {
        "from" => Timestamps.TryParse(value, out var from) ? this with { From = from } : null,
        "to" => Timestamps.TryParse(value, out var to) ? this with { To = to } : null,
        "repair" => value is "true" or "false" ? this with { Repair = value == "true" } : null,
        _ => null,
    };
}
