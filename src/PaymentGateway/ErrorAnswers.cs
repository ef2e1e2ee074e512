using PaymentGateway.Accepting;
using PaymentGateway.Settling;
using PaymentGateway.Summarising;

namespace PaymentGateway;

/// <summary>Answers what no endpoint answers: unknown paths, other methods, broken requests, own failures.</summary>
internal static partial class ErrorAnswers
{
    private static readonly Dictionary<string, string> AllowedMethods = new(StringComparer.OrdinalIgnoreCase)
    {
        [PaymentEndpoints.Path] = "POST",
        [AuditEndpoints.SummaryPath] = "GET",
        [AuditEndpoints.PurgePath] = "POST",
        [ParkedEndpoints.ListPath] = "GET",
        [HealthEndpoints.HealthPath] = "GET",
        [HealthEndpoints.ReadyPath] = "GET",
    };

    /// <summary>Turns what is thrown into problem details; a stack trace goes to the log only.</summary>
    public static void UseErrorAnswers(this WebApplication app) => app.Use(async (context, next) =>
    {
        try
        {
            await next(context);
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

    /// <summary>404 for unknown paths, 405 for known ones with another method.</summary>
    public static void MapErrors(this IEndpointRouteBuilder routes) => routes.MapFallback("{**path}", static context =>
    {
        var path = context.Request.Path.Value ?? "";
        if (!AllowedMethods.TryGetValue(path, out var allowed) && ParkedEndpoints.IsReplay(path))
            allowed = "POST";
        if (allowed is null)
            return ProblemAnswer.WriteAsync(context, 404, "Not found", "There is nothing at this path.");

        context.Response.Headers.Allow = allowed;
        return ProblemAnswer.WriteAsync(context, 405, "Method not allowed", $"This path takes {allowed}.");
    });

    private static partial class Log
    {
        [LoggerMessage(900, LogLevel.Error, "{Path} failed")]
        public static partial void Failed(ILogger log, string path, Exception failed);
    }
}
