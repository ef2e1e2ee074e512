using System.IO.Pipelines;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;
using PaymentGateway.Hosting.Telemetry;

namespace PaymentGateway.Accepting;

/// <summary>POST /payments (contract.md).</summary>
internal static class PaymentEndpoints
{
    public const string Path = "/payments";
    private const string Json = "application/json";
    private const string JsonInUtf8 = "application/json; charset=utf-8";

    public static void MapPayments(this IEndpointRouteBuilder routes)
    {
        var intake = routes.ServiceProvider.GetRequiredService<Intake>();
        var metrics = routes.ServiceProvider.GetRequiredService<GatewayMetrics>();
        var clock = routes.ServiceProvider.GetRequiredService<TimeProvider>();
        routes.MapPost(Path, context => AcceptAsync(context, intake, metrics, clock));
    }

    private static async Task AcceptAsync(
        HttpContext context, Intake intake, GatewayMetrics metrics, TimeProvider clock)
    {
        var payer = context.Features.Get<KnownPayer>();
        var isJson = IsJson(context.Request.ContentType);
        if (!isJson || !IsPlain(context.Request.Headers.ContentEncoding))
        {
            metrics.Refused.Add(1, Reasons.MediaType);
            NoteRefused(context, payer);
            await ProblemAnswer.WriteAsync(
                context, Problems.UnsupportedMediaType,
                "The body must be application/json in UTF-8, without a Content-Encoding.",
                isJson ? "Content-Encoding" : "Content-Type");
            return;
        }

        var body = context.Request.BodyReader;
        ReadResult read;
        try
        {
            // Kestrel refuses a longer body, so this reads all of it.
            read = await body.ReadAtLeastAsync(GatewayOptions.BodyBytesMax + 1, context.RequestAborted);
        }
        catch (BadHttpRequestException)
        {
            metrics.Refused.Add(1, Reasons.Unreadable);
            NoteRefused(context, payer);
            throw;
        }

        var arrivedAt = clock.GetTimestamp();
        var valid = PaymentRequest.TryParse(read.Buffer, out var id, out var cents, out var field, out var reason);
        body.AdvanceTo(read.Buffer.End);
        if (!valid)
        {
            metrics.Refused.Add(1, Reasons.Invalid);
            NoteRefused(context, payer);
            await ProblemAnswer.WriteAsync(
                context, Problems.InvalidPayment, field is null ? reason! : $"{field} {reason}.", field);
            return;
        }

        var trace = PaymentTrace.OfRequest();
        AcceptResult result;
        using (trace?.Start("store"))
            result = await intake.AcceptAsync(id, cents, trace, payer);
        if (result == AcceptResult.Overloaded)
            metrics.Refused.Add(1, Reasons.Overloaded);
        else
            metrics.AcceptDuration.Record(clock.GetElapsedTime(arrivedAt).TotalSeconds);
        if (result == AcceptResult.Unavailable)
            metrics.Refused.Add(1, Reasons.Unavailable);
        if (result == AcceptResult.Accepted)
            payer?.NoteAccepted();
        else
            NoteRefused(context, payer);
        await AnswerAsync(context, id, result);
    }

    private static Task AnswerAsync(HttpContext context, Guid id, AcceptResult result)
    {
        switch (result)
        {
            case AcceptResult.Accepted:
                context.Response.StatusCode = 202;
                // On the path of each payment, so only this string is allocated.
                context.Response.Headers.Location = string.Create(null, stackalloc char[64], $"{Path}/{id}");
                context.Response.ContentLength = 0;
                return Task.CompletedTask;
            case AcceptResult.Conflict:
                return ProblemAnswer.WriteAsync(
                    context, Problems.PaymentExists,
                    "This correlationId was accepted with another amount, or from another payer.", "correlationId");
            case AcceptResult.Overloaded:
                return ProblemAnswer.WriteAsync(
                    context, Problems.Overloaded, "Too many payments are waiting. Send it again.", null, 1);
            default:
                return ProblemAnswer.WriteAsync(
                    context, Problems.NotStored, "The payment could not be stored in time. Send it again.", null, 1);
        }
    }

    private static void NoteRefused(HttpContext context, KnownPayer? payer)
    {
        if (payer is null)
            return;

        payer.NoteRefused();
        context.Response.Headers[KnownPayer.Header] = payer.Name;
    }

    // The usual values are compared as a whole, because parsing allocates.
    private static bool IsJson(string? contentType) =>
        Json.Equals(contentType, StringComparison.OrdinalIgnoreCase)
        || JsonInUtf8.Equals(contentType, StringComparison.OrdinalIgnoreCase)
        || (MediaTypeHeaderValue.TryParse(contentType, out var type)
            && type.MediaType.Equals(Json, StringComparison.OrdinalIgnoreCase)
            && (!type.Charset.HasValue
                || HeaderUtilities.RemoveQuotes(type.Charset).Equals("utf-8", StringComparison.OrdinalIgnoreCase)));

    private static bool IsPlain(StringValues encoding) =>
        encoding.Count == 0 || "identity".Equals(encoding, StringComparison.OrdinalIgnoreCase);
}
