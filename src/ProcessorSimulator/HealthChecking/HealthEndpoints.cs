using ProcessorSimulator.Administering;
using ProcessorSimulator.Auditing;
using ProcessorSimulator.Charging;

namespace ProcessorSimulator.HealthChecking;

/// <summary>GET /payments/service-health: what the switches say, one call per window; a full one fails.</summary>
internal sealed class HealthEndpoints(
    HealthWindow window, Switches switches, PaymentLedger ledger, Faults faults, CallCounters calls)
{
    public void Map(WebApplication app) => app.MapGet("/payments/service-health", CheckAsync);

    private async Task CheckAsync(HttpContext context)
    {
        calls.Count(Counted.Health);
        try
        {
            await AnswerAsync(context);
        }
        catch (OperationCanceledException)
        {
            // The caller left while it waited, or the simulator stops: there is nobody to answer.
            context.Abort();
        }
    }

    private async Task AnswerAsync(HttpContext context)
    {
        var fault = faults.Current.Health;
        if (fault == HealthFault.Hang)
            await faults.HoldWhileAsync(set => set.Health == HealthFault.Hang, context.RequestAborted);
        if (fault == HealthFault.Garbage)
        {
            await context.Response.WriteAsync(FaultyCharge.Garbage);
        }
        else if (fault == HealthFault.TooMany || !await window.AcquireAsync(context.RequestAborted))
        {
            context.Response.StatusCode = StatusCodes.Status429TooManyRequests;
            context.Response.Headers.RetryAfter = "5";
        }
        else
        {
            var health = new ServiceHealth(switches.Failing || ledger.IsFull, switches.DelayMilliseconds);
            if (fault == HealthFault.Lie)
                health = new ServiceHealth(!health.Failing, 0);
            await JsonBody.WriteAsync(context, health, SimulatorJsonContext.Default.ServiceHealth);
        }
    }
}

/// <summary>The answer of GET /payments/service-health; minResponseTime is the delay in milliseconds.</summary>
internal sealed record ServiceHealth(bool Failing, int MinResponseTime);
