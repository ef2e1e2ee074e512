using PaymentGateway.Leasing;

namespace PaymentGateway.Hosting;

/// <summary>GET /healthz: the process answers. GET /readyz: it can take payments.</summary>
/// <remarks>MapHealthChecks is longer and logs every 503 (docs/decisions/smaller.md#where-ours-stays).</remarks>
internal static class HealthEndpoints
{
    public const string HealthPath = "/healthz";
    public const string ReadyPath = "/readyz";

    public static void MapHealth(this IEndpointRouteBuilder routes)
    {
        var lease = routes.ServiceProvider.GetRequiredService<Lease>();
        var ledger = routes.ServiceProvider.GetRequiredService<LedgerWatch>();
        var stopping = routes.ServiceProvider.GetRequiredService<IHostApplicationLifetime>().ApplicationStopping;
        routes.MapGetAndHead(HealthPath, static context =>
        {
            context.Response.ContentLength = 0;
            // Prometheus takes it for a page without metrics, so that it can watch nginx (ops/prometheus).
            context.Response.ContentType = "text/plain";
            return Task.CompletedTask;
        });
        routes.MapGetAndHead(ReadyPath, context =>
        {
            if (stopping.IsCancellationRequested)
                return ProblemAnswer.WriteAsync(context, Problems.Draining, "This instance is stopping.", null, 1);

            // A held lease shows that the database answers. An instance with a dead processor stays ready.
            var resetAt = ledger.ResetAt;
            return lease.IsTrusted
                ? JsonAnswer.WriteAsync(
                    context, new ReadyAnswer(resetAt is null ? "kept" : "reset", resetAt),
                    HealthJsonContext.Default.ReadyAnswer)
                : ProblemAnswer.WriteUnavailableAsync(context);
        });
    }
}

/// <summary>Ledger is "kept", or "reset" from a crash that emptied it to the next purge. ResetAt is UTC.</summary>
internal sealed record ReadyAnswer(string Ledger, DateTime? ResetAt);

[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(ReadyAnswer))]
internal sealed partial class HealthJsonContext : JsonSerializerContext;
