using ProcessorSimulator.Administering;
using ProcessorSimulator.Auditing;

namespace ProcessorSimulator.Charging;

/// <summary>POST /payments: the delay, then the failure switch, then the insert.</summary>
internal sealed partial class PaymentEndpoints(
    PaymentLedger ledger,
    Switches switches,
    PaymentLimiter limiter,
    CallCounters calls,
    FaultyCharge faulty,
    TimeProvider clock,
    ILogger<PaymentEndpoints> logger,
    CancellationToken stopping)
{
    private static readonly byte[] Duplicate =
        """{"message":"Payment could not be processed. CorrelationId already exists."}"""u8.ToArray();

    public void Map(WebApplication app) => app.MapPost("/payments", AcceptAsync);

    private async Task AcceptAsync(HttpContext context)
    {
        calls.CountPost(context.Connection.RemoteIpAddress);
        var fault = faulty.TakeFault();
        try
        {
            if (fault is { TooMany: true })
            {
                await DelayAsync();
                limiter.Refuse(context, "1");
                return;
            }

            using var permit = await limiter.AcquireAsync(context);
            if (permit.IsAcquired)
                await ChargeAsync(context, fault);
        }
        catch (OperationCanceledException) when (stopping.IsCancellationRequested)
        {
            context.Abort();
        }
    }

    /// <summary>Nothing from the delay on looks at RequestAborted: whoever hangs up is charged all the same.</summary>
    private async Task ChargeAsync(HttpContext context, FaultSettings? fault)
    {
        if (await ReadAsync(context) is not { } payment)
            return;
        await DelayAsync();
        if (fault is { Status: { } status })
        {
            await FaultyCharge.AnswerStatusAsync(context, status);
            return;
        }

        if (switches.Failing)
        {
            context.Response.StatusCode = StatusCodes.Status500InternalServerError;
            return;
        }

        if (fault is not null && !await faulty.GoesOnToInsertAsync(context, fault))
            return;
        if (!await StoreAsync(context, payment))
            return;
        if (fault is null)
            await JsonBody.WriteAsync(context, FaultyCharge.Processed);
        else
            await faulty.AnswerInsertedAsync(context, fault);
    }

    private Task DelayAsync() => switches.DelayMilliseconds is > 0 and var delay
        ? Task.Delay(TimeSpan.FromMilliseconds(delay), clock, stopping)
        : Task.CompletedTask;

    /// <summary>False when it was not stored and the answer is set.</summary>
    private async ValueTask<bool> StoreAsync(HttpContext context, StoredPayment payment)
    {
        switch (ledger.Insert(payment))
        {
            case InsertResult.Duplicate:
                calls.Count(Counted.Duplicate);
                context.Response.StatusCode = StatusCodes.Status422UnprocessableEntity;
                await JsonBody.WriteAsync(context, Duplicate);
                return false;
            case InsertResult.Full:
                // Without a body: the contract's clean refusal. With one the gateway would have to take it for charged.
                context.Response.StatusCode = StatusCodes.Status500InternalServerError;
                return false;
            case InsertResult.StoredLast:
                Log.Full(logger);
                return true;
            default:
                return true;
        }
    }

    private static async ValueTask<StoredPayment?> ReadAsync(HttpContext context)
    {
        // The real processor takes JSON only; a gateway that does not say so must not pass here.
        if (context.Request.ContentType is not "application/json" && !context.Request.HasJsonContentType())
        {
            context.Response.StatusCode = StatusCodes.Status415UnsupportedMediaType;
            return null;
        }

        var request = await JsonBody.ReadAsync(context, SimulatorJsonContext.Default.PaymentRequest);
        if (request is null)
            return null;
        if (Math.Abs(request.Amount) <= StoredPayment.AmountMax)
            return StoredPayment.From(request);
        context.Response.StatusCode = StatusCodes.Status400BadRequest;
        return null;
    }

    private static partial class Log
    {
        [LoggerMessage(1, LogLevel.Error,
            "Full: as many payments are stored as Simulator__MaxPayments allows; new ones get 500 until a purge")]
        public static partial void Full(ILogger logger);
    }
}
