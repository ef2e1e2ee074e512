using System.Text.Json;
using ProcessorSimulator.Administering;
using ProcessorSimulator.Charging;

namespace ProcessorSimulator.Auditing;

/// <summary>
/// GET /admin/payments and GET /admin/calls: an auditor's extras for our own rig, ours and not the contract's.
/// </summary>
internal sealed class AuditEndpoints(PaymentBook book, CallCounters calls, PaymentLimiter limiter)
{
    private const int FlushSizeBytes = 32 * 1024;

    public void Map(WebApplication app, AdminToken token)
    {
        app.MapGet("/admin/payments", token.Guard(ListAsync));
        app.MapGet("/admin/calls", token.Guard(CountAsync));
    }

    private async Task ListAsync(HttpContext context)
    {
        JsonBody.Start(context);
        var body = context.Response.BodyWriter;
        await using var json = new Utf8JsonWriter(body);
        json.WriteStartArray();
        foreach (var slice in book.Snapshot())
        {
            for (var i = 0; i < slice.Count; i++)
            {
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

    private Task CountAsync(HttpContext context) => JsonBody.WriteAsync(
        context, calls.Read(limiter.InFlight, limiter.Queued), SimulatorJsonContext.Default.CallCount);
}
