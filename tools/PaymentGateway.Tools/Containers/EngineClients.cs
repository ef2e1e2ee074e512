using System.Net.Http.Json;
using PaymentGateway.Tools.Comparing;

namespace PaymentGateway.Tools.Containers;

/// <summary>HTTP to the ports that the containers publish: nginx's, the simulators' and the instances'.</summary>
internal sealed class EngineClients : IDisposable
{
    private const int Gateway = 9999;
    private static readonly int[] Processors = [8001, 8002];
    private static readonly int[] Operators = [9101, 9102];

    private readonly HttpClient _patient;
    private readonly HttpClient[] _processors;
    private readonly HttpClient[] _operators;

    public static IReadOnlyList<int> Ports => [Gateway, .. Processors, .. Operators];

    public EngineClients()
    {
        Clients = To(Gateway, TimeSpan.FromSeconds(3));
        _patient = To(Gateway, TimeSpan.FromSeconds(10));
        _processors = Processors.Select(port => To(port, TimeSpan.FromSeconds(10))).ToArray();
        _operators = Operators.Select(port => To(port, TimeSpan.FromSeconds(10))).ToArray();
        foreach (var processor in _processors)
            processor.DefaultRequestHeaders.Add("X-Rinha-Token", "123");
    }

    /// <summary>The gateway as payers see it: they wait for 3 s.</summary>
    public HttpClient Clients { get; }

    public async Task<bool> IsReadyAsync()
    {
        try
        {
            using var answer = await Clients.GetAsync("readyz");
            return answer.IsSuccessStatusCode;
        }
        catch (Exception unavailable) when (
            unavailable is HttpRequestException or OperationCanceledException or IOException)
        {
            return false;
        }
    }

    public Task<string> SayReadyAsync() => _patient.GetStringAsync("readyz");

    public Task<string> SummariseAsync() => _patient.GetStringAsync("payments-summary");

    /// <summary>The statuses of an operator's call at both instances' ports, and where everybody pays.</summary>
    public async Task<HttpStatusCode[]> OperatorStatusesAsync()
    {
        var statuses = new List<HttpStatusCode>();
        foreach (var client in _operators.Append(_patient))
        {
            using var answer = await client.GetAsync("admin/parked");
            statuses.Add(answer.StatusCode);
        }

        return [.. statuses];
    }

    /// <summary>What both processors have stored.</summary>
    public async Task<ProcessorStores> StoresAsync() =>
        new(await StoredAsync(_processors[0]), await StoredAsync(_processors[1]));

    /// <summary>Empties all three.</summary>
    public async Task PurgeAsync()
    {
        using var purged = await _patient.PostAsync("purge-payments", null);
        purged.EnsureSuccessStatusCode();
        foreach (var processor in _processors)
        {
            using var forgotten = await processor.PostAsync("admin/purge-payments", null);
            forgotten.EnsureSuccessStatusCode();
        }
    }

    public async Task SetFailureAsync(bool failure)
    {
        foreach (var processor in _processors)
        {
            using var set = await processor.PutAsJsonAsync("admin/configurations/failure", new { failure });
            set.EnsureSuccessStatusCode();
        }
    }

    public void Dispose()
    {
        Clients.Dispose();
        _patient.Dispose();
        foreach (var client in _processors.Concat(_operators))
            client.Dispose();
    }

    private static async Task<List<ProcessorPayment>> StoredAsync(HttpClient processor) =>
        (await processor.GetFromJsonAsync<List<ProcessorPayment>>("admin/payments"))!;

    private static HttpClient To(int port, TimeSpan limit) => new(new SocketsHttpHandler { UseProxy = false })
    {
        BaseAddress = new Uri(string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{port}")),
        Timeout = limit,
    };
}
