using ProcessorSimulator.Auditing;

namespace ProcessorSimulator.Charging;

/// <summary>
/// GET /payments/{id}: shares the limiter of the payments; no switch delays it or makes it fail, a fault of ours may.
/// </summary>
internal sealed class LookUpEndpoints(PaymentLedger ledger, PaymentLimiter limiter, Faults faults, CallCounters calls)
{
    public void Map(WebApplication app) => app.MapGet("/payments/{id}", LookUpAsync);

    private async Task LookUpAsync(HttpContext context)
    {
        calls.Count(Counted.LookUp);
        if (faults.Current.LookUp is not LookUpFault.None and var fault)
        {
            await FailAsync(context, fault);
            return;
        }

        using var permit = await limiter.AcquireAsync(context);
        if (!permit.IsAcquired)
            return;
        if (Guid.TryParse((string?)context.Request.RouteValues["id"], out var id)
            && ledger.TryFind(id, out var payment))
            await JsonBody.WriteAsync(context, payment, SimulatorJsonContext.Default.StoredPayment);
        else
            context.Response.StatusCode = StatusCodes.Status404NotFound;
    }

    private async Task FailAsync(HttpContext context, LookUpFault fault)
    {
        switch (fault)
        {
            case LookUpFault.TooMany:
                limiter.Refuse(context, "1");
                break;
            case LookUpFault.ErrorBody:
                await FaultyCharge.AnswerErrorAsync(context);
                break;
            case LookUpFault.Hang:
                await HangAsync(context);
                break;
            case LookUpFault.NotFound:
                context.Response.StatusCode = StatusCodes.Status404NotFound;
                break;
            case LookUpFault.Foreign:
                await FaultyCharge.AnswerForeignAsync(context);
                break;
            default:
                await context.Response.WriteAsync(FaultyCharge.Garbage);
                break;
        }
    }

    private async Task HangAsync(HttpContext context)
    {
        try
        {
            await faults.HoldWhileAsync(set => set.LookUp == LookUpFault.Hang, context.RequestAborted);
        }
        catch (OperationCanceledException)
        {
            // The caller left, or the simulator stops: there is nobody to answer.
        }

        context.Abort();
    }
}
