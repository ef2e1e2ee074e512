using PaymentGateway.Accepting;
using PaymentGateway.Answering;
using PaymentGateway.Configuring;
using PaymentGateway.Settling;
using PaymentGateway.Summarising;

namespace PaymentGateway.Hosting;

/// <summary>Answers what no endpoint answers: unknown paths, other methods, broken requests, own failures.</summary>
internal static partial class ErrorAnswers
{
    private static readonly Dictionary<string, string> AllowedMethods = new(StringComparer.OrdinalIgnoreCase)
    {
        [PaymentEndpoints.Path] = "POST",
        [AuditEndpoints.SummaryPath] = "GET",
        [AuditEndpoints.PurgePath] = "POST",
        [ParkedEndpoints.ListPath] = "GET",
        [ParkedEndpoints.ReplayAllPath] = "POST",
        [HealthEndpoints.HealthPath] = "GET",
        [HealthEndpoints.ReadyPath] = "GET",
    };

    /// <summary>Turns what is thrown into problem details; a stack trace goes to the log only.</summary>
    public static void UseErrorAnswers(this WebApplication app) => app.Use(async (context, next) =>
    {
        try
        {
            // Routing's own answer to a wrong method is an endpoint too, of another kind.
            await (context.GetEndpoint() is RouteEndpoint ? next(context) : RefuseAsync(context));
        }
        catch (BadHttpRequestException bad) when (!context.Response.HasStarted)
        {
            await (bad.StatusCode == StatusCodes.Status413PayloadTooLarge
                ? ProblemAnswer.WriteAsync(
                    context, 413, "Body too large", $"At most {GatewayOptions.BodyBytesMax} bytes are taken.")
                : ProblemAnswer.WriteAsync(
                    context, bad.StatusCode, "Bad request", "The request is malformed or too slow."));
        }
        catch (Exception failed) when (!context.Response.HasStarted && !context.RequestAborted.IsCancellationRequested)
        {
            Log.Failed(app.Logger, context.Request.Path, failed);
            await ProblemAnswer.WriteAsync(context, 500, "Internal failure", "The gateway failed; the log says why.");
        }
    });

    // 404 for unknown paths, 405 for known ones with another method. No fallback endpoint: routing would weigh it and
    // cut the path up for it in each request.
    private static Task RefuseAsync(HttpContext context)
    {
        var path = context.Request.Path.Value ?? "";
        if (!AllowedMethods.TryGetValue(path, out var allowed) && ParkedEndpoints.IsReplay(path))
            allowed = "POST";
        if (allowed is null)
            return ProblemAnswer.WriteAsync(context, 404, "Not found", "There is nothing at this path.");

        context.Response.Headers.Allow = allowed;
        return ProblemAnswer.WriteAsync(context, 405, "Method not allowed", $"This path takes {allowed}.");
    }

    private static partial class Log
    {
        [LoggerMessage(900, LogLevel.Error, "{Path} failed")]
        public static partial void Failed(ILogger log, string path, Exception failed);
    }
}
