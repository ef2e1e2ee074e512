using PaymentGateway.Answering;
using PaymentGateway.Leasing;

namespace PaymentGateway.Showing;

/// <summary>GET /ops/events: the view of all instances each second, as server-sent events.</summary>
internal sealed class OpsEvents(Audience audience, LiveEvents events, IHostApplicationLifetime life, TimeProvider clock)
{
    /// <summary>How many may watch one instance at once.</summary>
    public const int WatchersMax = 16;

    // Then the browser asks again, so whether it still may is asked now and then.
    private static readonly TimeSpan Longest = TimeSpan.FromMinutes(10);

    public async Task AnswerAsync(HttpContext context)
    {
        if (!audience.TryJoin(WatchersMax))
        {
            await ProblemAnswer.WriteAsync(
                context, 503, "Overloaded", $"{WatchersMax} watch this instance already.", null, 5);
            return;
        }

        try
        {
            using var longest = new CancellationTokenSource(Longest, clock);
            using var end = CancellationTokenSource.CreateLinkedTokenSource(
                context.RequestAborted, life.ApplicationStopping, longest.Token);
            var headers = context.Response.Headers;
            headers.ContentType = "text/event-stream";
            headers.CacheControl = "no-store";
            headers["X-Accel-Buffering"] = "no"; // nginx would keep it until its buffer is full.
            await SendAsync(context.Response.Body, events, end.Token);
        }
        catch (OperationCanceledException)
        {
            // The watcher has hung up, the instance stops, or its time is over.
        }
        finally
        {
            audience.Leave();
        }
    }

    /// <summary>Sends each event that comes from now on, as far as the reader keeps up.</summary>
    public static async Task SendAsync(Stream body, LiveEvents events, CancellationToken end)
    {
        var seen = events.Newest;
        await body.WriteAsync("retry: 1000\n\n"u8.ToArray(), end);
        await body.FlushAsync(end);
        while (true)
        {
            var next = await events.AfterAsync(seen, end);
            await body.WriteAsync((byte[])[.. "data: "u8, .. next.Data, .. "\n\n"u8], end);
            await body.FlushAsync(end);
            seen = next.Number;
        }
    }
}
