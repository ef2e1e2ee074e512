using System.Globalization;
using System.Text;
using System.Text.Json;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring;

/// <summary>Asks a system's gateway and its processors, and tells the processors what to do.</summary>
internal sealed class GatewayClient(SystemSettings settings) : IDisposable
{
    private const string SimulatorToken = "123";
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(0.2);

    private readonly Uri _gateway = new(settings.Url);
    private readonly HttpClient _http = new(new SocketsHttpHandler { UseProxy = false })
    {
        Timeout = TimeSpan.FromSeconds(30),
        DefaultRequestHeaders = { { "X-Rinha-Token", SimulatorToken } },
    };

    /// <summary>Of both processors; null when the gateway does not say, as it may under a load.</summary>
    public async Task<int?> SettledAsync(CancellationToken cancellation)
    {
        try
        {
            return Totals.In(await _http.GetStringAsync(new Uri(_gateway, "payments-summary"), cancellation))
                .Sum(total => total.Requests);
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

    /// <summary>Sets `failure` or `delay` at both processors.</summary>
    public async Task SetProcessorsAsync(string what, string value, CancellationToken cancellation)
    {
        foreach (var processor in Processors)
        {
            using var content = new StringContent($"{{\"{what}\":{value}}}", Encoding.UTF8, "application/json");
            using var answer = await _http.PutAsync(
                new Uri(processor, "admin/configurations/" + what), content, cancellation);
            answer.EnsureSuccessStatusCode();
        }
    }

    /// <summary>Payments and amount by processor, as the gateway says.</summary>
    public async Task<string> LedgerAsync(CancellationToken cancellation) =>
        string.Join(' ', Totals.In(await _http.GetStringAsync(new Uri(_gateway, "payments-summary"), cancellation)));

    /// <summary>The same as the processors say.</summary>
    public async Task<string> ChargedAsync(CancellationToken cancellation)
    {
        var charged = new List<Totals>();
        foreach (var processor in Processors)
            charged.AddRange(Totals.In(
                await _http.GetStringAsync(new Uri(processor, "admin/payments-summary"), cancellation)));
        return string.Join(' ', charged);
    }

    public void Dispose() => _http.Dispose();

    private Uri[] Processors => [new(settings.DefaultUrl), new(settings.FallbackUrl)];

    /// <summary>One processor's part of a summary. A processor writes 19.9 where we write 19.90.</summary>
    private readonly record struct Totals(int Requests, decimal Amount)
    {
        /// <summary>Of a summary with both processors, or of one processor's own.</summary>
        public static IEnumerable<Totals> In(string json)
        {
            using var document = JsonDocument.Parse(json);
            var root = document.RootElement;
            return root.TryGetProperty("default", out var first)
                ? [Of(first), Of(root.GetProperty("fallback"))]
                : [Of(root)];
        }

        public override string ToString() =>
            string.Create(CultureInfo.InvariantCulture, $"{Requests} {Amount:F2}");

        private static Totals Of(JsonElement totals) =>
            new(totals.GetProperty("totalRequests").GetInt32(), totals.GetProperty("totalAmount").GetDecimal());
    }
}
