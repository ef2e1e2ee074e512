using ProcessorSimulator.Auditing;

namespace ProcessorSimulator.Charging;

/// <summary>GET /payments/{id}: shares the limiter of the payments; no switch delays it or makes it fail.</summary>
internal sealed class LookUpEndpoints(PaymentBook book, PaymentLimiter limiter, CallCounters calls)
{
    public void Map(WebApplication app) => app.MapGet("/payments/{id}", LookUpAsync);

    private async Task LookUpAsync(HttpContext context)
    {
        calls.CountLookUp();
        using var place = await limiter.EnterAsync(context);
        if (!place.IsAcquired)
            return;
        if (Guid.TryParse((string?)context.Request.RouteValues["id"], out var id) && book.TryFind(id, out var payment))
            await JsonBody.WriteAsync(context, payment, SimulatorJsonContext.Default.StoredPayment);
        else
            context.Response.StatusCode = StatusCodes.Status404NotFound;
    }
}
