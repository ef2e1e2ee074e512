namespace PaymentGateway.Operator.Dashboard;

/// <summary>GET /ops/events: the view of all instances each second, as server-sent events.</summary>
internal sealed class OpsEvents(OverviewStream views, IHostApplicationLifetime life, TimeProvider clock)
{
    /// <summary>How many may watch one instance at once.</summary>
    public const int WatchersMax = 16;

    // After it the browser connects again, and its session is checked again.
    private static readonly TimeSpan Longest = TimeSpan.FromMinutes(10);

    private int _watchers;

    public async Task AnswerAsync(HttpContext context)
    {
        try
        {
            if (Interlocked.Increment(ref _watchers) > WatchersMax)
            {
                await ProblemAnswer.WriteAsync(
                    context, Problems.Overloaded, $"{WatchersMax} watch this instance already.", null, 5);
                return;
            }

            using var longest = new CancellationTokenSource(Longest, clock);
            using var end = CancellationTokenSource.CreateLinkedTokenSource(
                context.RequestAborted, life.ApplicationStopping, longest.Token);
            var headers = context.Response.Headers;
            headers.ContentType = "text/event-stream";
            headers.CacheControl = "no-store";
            headers["X-Accel-Buffering"] = "no"; // nginx would keep it until its buffer is full.
            await SendAsync(context.Response.Body, views.NextAsync, end.Token);
        }
        catch (OperationCanceledException)
        {
            // The watcher has hung up, the instance stops, or its time is over.
        }
        finally
        {
            Interlocked.Decrement(ref _watchers);
        }
    }

    /// <summary>Sends views as fast as the body takes them; a slow watcher misses some.</summary>
    public static async Task SendAsync(Stream body, Func<Task<byte[]?>> next, CancellationToken end)
    {
        await body.WriteAsync("retry: 1000\n\n"u8.ToArray(), end);
        await body.FlushAsync(end);
        while (true)
        {
            if (await next().WaitAsync(end) is not { } view)
                continue;

            await body.WriteAsync((byte[])[.. "data: "u8, .. view, .. "\n\n"u8], end);
            await body.FlushAsync(end);
        }
    }
}
