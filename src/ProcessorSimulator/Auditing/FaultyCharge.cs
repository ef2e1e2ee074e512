using Microsoft.AspNetCore.Connections.Features;

namespace ProcessorSimulator.Auditing;

/// <summary>Makes a POST suffer what is set by PUT /admin/faults; ours and not the contract's.</summary>
internal sealed class FaultyCharge(Faults faults, TimeProvider clock, CancellationToken stopping)
{
    public const string Garbage = "<html><body>not the JSON you are looking for";

    private static readonly byte[] Broken = """{"message":"The database broke after the insert."}"""u8.ToArray();
    private static readonly byte[] Refused = """{"message":"The payment was refused."}"""u8.ToArray();
    private static readonly TimeSpan TrickleInterval = TimeSpan.FromMilliseconds(500);

    public static byte[] Processed { get; } = """{"message":"payment processed successfully"}"""u8.ToArray();

    public FaultSettings? TakeFault() => faults.TakeForPost();

    public static Task AnswerStatusAsync(HttpContext context, int status)
    {
        context.Response.StatusCode = status;
        return JsonBody.WriteAsync(context, Refused);
    }

    public static Task AnswerErrorAsync(HttpContext context)
    {
        context.Response.StatusCode = StatusCodes.Status500InternalServerError;
        return JsonBody.WriteAsync(context, Broken);
    }

    /// <summary>As something in between answers that does not know the processor's route.</summary>
    public static Task AnswerForeignAsync(HttpContext context)
    {
        context.Response.StatusCode = StatusCodes.Status404NotFound;
        return context.Response.WriteAsync("<html><body>default backend - 404</body></html>");
    }

    /// <summary>False when the call ends here, without an insert.</summary>
    public async Task<bool> GoesOnToInsertAsync(HttpContext context, FaultSettings fault)
    {
        if (fault.Garbage)
        {
            await context.Response.WriteAsync(Garbage, stopping);
            return false;
        }

        if (fault.BeforeInsert == BeforeInsertFault.Reset)
        {
            Reset(context);
            return false;
        }

        // Whoever hangs up meanwhile is charged all the same, so only the stop ends this early.
        if (fault.BeforeInsert == BeforeInsertFault.Hang)
            await faults.HoldWhileAsync(set => set.BeforeInsert == BeforeInsertFault.Hang, CancellationToken.None);
        return true;
    }

    public async Task AnswerInsertedAsync(HttpContext context, FaultSettings fault)
    {
        switch (fault.AfterInsert)
        {
            case AfterInsertFault.ErrorBody:
                await AnswerErrorAsync(context);
                return;
            case AfterInsertFault.Reset:
                Reset(context);
                return;
            case AfterInsertFault.Garbage:
                await context.Response.WriteAsync(Garbage, stopping);
                return;
            case AfterInsertFault.Foreign:
                await AnswerForeignAsync(context);
                return;
            case AfterInsertFault.Hang:
                if (!await HoldAsync(context))
                    return;
                break;
            case AfterInsertFault.None:
            default:
                break;
        }

        if (fault.Trickle)
            await TrickleAsync(context);
        else
            await JsonBody.WriteAsync(context, Processed);
    }

    private async Task<bool> HoldAsync(HttpContext context)
    {
        try
        {
            await faults.HoldWhileAsync(set => set.AfterInsert == AfterInsertFault.Hang, context.RequestAborted);
            return true;
        }
        catch (OperationCanceledException) when (context.RequestAborted.IsCancellationRequested)
        {
            return false;
        }
    }

    private async Task TrickleAsync(HttpContext context)
    {
        JsonBody.Start(context, Processed.Length);
        for (var i = 0; i < Processed.Length && !context.RequestAborted.IsCancellationRequested; i++)
        {
            await context.Response.BodyWriter.WriteAsync(Processed.AsMemory(i, 1), stopping);
            await Task.Delay(TrickleInterval, clock, stopping);
        }
    }

    private static void Reset(HttpContext context)
    {
        // Without lingering the socket is closed by a reset and not by a polite end of the stream.
        if (context.Features.Get<IConnectionSocketFeature>() is { } connection)
            connection.Socket.LingerState = new(enable: true, seconds: 0);
        context.Abort();
    }
}
