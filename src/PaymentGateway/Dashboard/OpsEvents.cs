using System.Threading.Channels;
using PaymentGateway.Http;

namespace PaymentGateway.Dashboard;

/// <summary>GET /ops/events: the view of all instances each second, as server-sent events.</summary>
internal sealed class OpsEvents(LiveEvents events, IHostApplicationLifetime life, TimeProvider clock)
{
    // Then the browser asks again, so whether it still may is asked now and then.
    private static readonly TimeSpan Longest = TimeSpan.FromMinutes(10);

    public async Task AnswerAsync(HttpContext context)
    {
        if (events.TryJoin() is not { } joined)
        {
            await ProblemAnswer.WriteAsync(
                context, Problems.Overloaded, $"{LiveEvents.WatchersMax} watch this instance already.", null, 5);
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
            await SendAsync(context.Response.Body, joined.Reader, end.Token);
        }
        catch (OperationCanceledException)
        {
            // The watcher has hung up, the instance stops, or its time is over.
        }
        finally
        {
            events.Leave(joined);
        }
    }

    /// <summary>Sends events as far as the reader keeps up.</summary>
    public static async Task SendAsync(Stream body, ChannelReader<byte[]> events, CancellationToken end)
    {
        await body.WriteAsync("retry: 1000\n\n"u8.ToArray(), end);
        await body.FlushAsync(end);
        await foreach (var data in events.ReadAllAsync(end))
        {
            await body.WriteAsync((byte[])[.. "data: "u8, .. data, .. "\n\n"u8], end);
            await body.FlushAsync(end);
        }
    }
}
