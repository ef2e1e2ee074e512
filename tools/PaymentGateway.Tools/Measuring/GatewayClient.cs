namespace PaymentGateway.Tools.Measuring;

/// <summary>Asks a system's gateway how much it has settled.</summary>
internal sealed class GatewayClient(string url) : IDisposable
{
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(0.2);

    private readonly Uri _gateway = new(url);
    private readonly HttpClient _http = new(new SocketsHttpHandler { UseProxy = false })
    {
        Timeout = TimeSpan.FromSeconds(30),
    };

    /// <summary>Of all processors; null when the gateway does not say, as it may under a load.</summary>
    public async Task<int?> SettledAsync(CancellationToken cancellation)
    {
        try
        {
            using var summary = JsonDocument.Parse(
                await _http.GetStringAsync(new Uri(_gateway, "payments-summary"), cancellation));
            return summary.RootElement.EnumerateObject()
                .Sum(processor => processor.Value.GetProperty("totalRequests").GetInt32());
        }
        catch (Exception silent) when (silent is HttpRequestException or TaskCanceledException)
        {
            cancellation.ThrowIfCancellationRequested();
            return null;
        }
    }

    /// <summary>What was accepted is settled in the end: counted, not believed.</summary>
    public async Task AwaitSettledAsync(int count, TimeSpan limit, CancellationToken cancellation)
    {
        var deadline = DateTime.UtcNow + limit;
        int? settled;
        while ((settled = await SettledAsync(cancellation)) is not { } enough || enough < count)
        {
            if (DateTime.UtcNow >= deadline)
                throw new ToolException(
                    $"only {settled} of {count} payments were settled after {limit.TotalSeconds} s");
            await Task.Delay(Interval, cancellation);
        }
    }

    public void Dispose() => _http.Dispose();
}
