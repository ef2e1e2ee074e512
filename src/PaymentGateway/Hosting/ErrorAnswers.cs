using PaymentGateway.Accepting;
using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Hosting;

/// <summary>Answers what no endpoint answers: unknown paths, other methods, broken requests, own failures.</summary>
/// <remarks>Status-code pages would allocate in each request (docs/decisions/smaller.md#where-ours-stays).</remarks>
internal static partial class ErrorAnswers
{
    /// <summary>Turns what is thrown into problem details; a stack trace goes to the log only.</summary>
    public static void UseErrorAnswers(this WebApplication app)
    {
        var listener = app.Services.GetRequiredService<AdminListener>();
        app.Use((context, next) => AnswerAsync(app, listener, context, next));
    }

    private static async Task AnswerAsync(
        WebApplication app, AdminListener listener, HttpContext context, RequestDelegate next)
    {
        try
        {
            // Everything there, payments too: a page whose name resolves to this port may send what it likes, and
            // read the answer.
            if (listener.IsOfUnknownHost(context))
                await ProblemAnswer.WriteAsync(
                    context, Problems.CrossSiteRequest,
                    "Use localhost or an IP address, or set Gateway__Admin__Token.", "Host");
            else
                await (context.GetEndpoint() is RouteEndpoint ? next(context) : RefuseAsync(context, next));
        }
        catch (BadHttpRequestException bad) when (!context.Response.HasStarted)
        {
            await (bad.StatusCode == StatusCodes.Status413PayloadTooLarge
                ? ProblemAnswer.WriteAsync(
                    context, Problems.BodyTooLarge, $"At most {GatewayOptions.BodyBytesMax} bytes are taken.")
                : ProblemAnswer.WriteAsync(
                    context, Problems.BadRequest with { Status = bad.StatusCode },
                    "The request is malformed or too slow."));
        }
        catch (Exception failed) when (!context.Response.HasStarted && !context.RequestAborted.IsCancellationRequested)
        {
            Log.Failed(app.Logger, context.Request.Path, failed);
            await ProblemAnswer.WriteAsync(context, Problems.InternalFailure, "The gateway failed; the log says why.");
        }
    }

    // 404 for unknown paths, 405 for known ones with another method. A fallback endpoint would cost each request:
    // routing would split its path and compare this endpoint too.
    private static async Task RefuseAsync(HttpContext context, RequestDelegate next)
    {
        if (context.GetEndpoint() is null)
        {
            await ProblemAnswer.WriteNotFoundAsync(context);
            return;
        }

        // Routing's own endpoint for a wrong method, which sets Allow.
        await next(context);
        // Routing allows GET at this path, too, which answers 404 on all but an operator's listeners (QueryEndpoints).
        if (context.Request.Path.Value!.TrimEnd('/').Equals(PaymentEndpoints.Path, StringComparison.OrdinalIgnoreCase)
            && !context.RequestServices.GetRequiredService<AdminListener>().HasAccepted(context))
            context.Response.Headers.Allow = HttpMethods.Post;
        await ProblemAnswer.WriteAsync(
            context, Problems.MethodNotAllowed, $"This path takes {context.Response.Headers.Allow}.");
    }

    private static partial class Log
    {
        [LoggerMessage(900, LogLevel.Error, "Failed to answer {Path}")]
        public static partial void Failed(ILogger log, string path, Exception failed);
    }
}
