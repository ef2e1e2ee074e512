using System.Text.Json;
using Microsoft.AspNetCore.Http.Features;
using ProcessorSimulator.Administering;
using ProcessorSimulator.Charging;

namespace ProcessorSimulator.Auditing;

/// <summary>
/// GET /admin/payments (all, or between from and to), POST /admin/payments (many at once, past every switch), GET
/// /admin/calls and GET /admin/callers: an auditor's extras for our own rig, ours and not the contract's.
/// </summary>
internal sealed class AuditEndpoints(
    PaymentLedger ledger, CallCounters calls, PaymentLimiter limiter, Faults faults)
{
    private const int FlushSizeBytes = 32 * 1024;
    private const int PlantBytesMax = 64 * 1024 * 1024;

    public void Map(WebApplication app, AdminToken token)
    {
        app.MapGet("/admin/payments", token.Guard(ListAsync));
        app.MapPost("/admin/payments", token.Guard(PlantAsync));
        app.MapGet("/admin/calls", token.Guard(CountAsync));
        app.MapGet("/admin/callers", token.Guard(CountCallersAsync));
    }

    private async Task ListAsync(HttpContext context)
    {
        if (!AdminEndpoints.TryReadBound(context, "from", out var from)
            || !AdminEndpoints.TryReadBound(context, "to", out var to))
        {
            context.Response.StatusCode = StatusCodes.Status400BadRequest;
            return;
        }

        JsonBody.Start(context);
        var body = context.Response.BodyWriter;
        await using var json = new Utf8JsonWriter(body);
        json.WriteStartArray();
        foreach (var slice in ledger.Snapshot())
        {
            for (var i = 0; i < slice.Count; i++)
            {
                if (slice.Page[i].RequestedAt < from || slice.Page[i].RequestedAt > to)
                    continue;
                JsonSerializer.Serialize(json, slice.Page[i], SimulatorJsonContext.Default.StoredPayment);
                if (json.BytesPending < FlushSizeBytes)
                    continue;
                json.Flush();
                if ((await body.FlushAsync(context.RequestAborted)).IsCompleted)
                    return;
            }
        }

        json.WriteEndArray();
    }

    private async Task PlantAsync(HttpContext context)
    {
        context.Features.Get<IHttpMaxRequestBodySizeFeature>()!.MaxRequestBodySize = PlantBytesMax;
        if (await JsonBody.ReadAsync(context, SimulatorJsonContext.Default.PaymentRequestArray) is not { } payments)
            return;
        foreach (var payment in payments)
            ledger.Insert(StoredPayment.From(payment));
        context.Response.StatusCode = StatusCodes.Status204NoContent;
    }

    private Task CountAsync(HttpContext context) => JsonBody.WriteAsync(
        context, calls.Read(limiter.InFlight, limiter.Queued, faults.Held), SimulatorJsonContext.Default.CallCount);

    private Task CountCallersAsync(HttpContext context) => JsonBody.WriteAsync(
        context, calls.ReadCallers(), SimulatorJsonContext.Default.DictionaryStringInt64);
}
