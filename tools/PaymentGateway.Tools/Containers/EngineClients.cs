using System.Net.Http.Json;
using PaymentGateway.Tools.Comparing;

namespace PaymentGateway.Tools.Containers;

/// <summary>HTTP to the ports that the containers publish: nginx's, the simulators' and the instances'.</summary>
internal sealed class EngineClients : IDisposable
{
    private const int Gateway = 9999;
    private static readonly (string Name, int Port)[] Processors = [("default", 8001), ("fallback", 8002)];
    private static readonly int[] Operators = [9101, 9102];

    private readonly HttpClient _patient = new(new SocketsHttpHandler { UseProxy = false })
    {
        Timeout = TimeSpan.FromSeconds(10),
        DefaultRequestHeaders = { { "X-Rinha-Token", "123" } }, // The processors ask for it.
    };

    public static IReadOnlyList<int> Ports => [Gateway, .. Processors.Select(one => one.Port), .. Operators];

    /// <summary>The gateway as payers see it: they wait for 3 s.</summary>
    public HttpClient Clients { get; } = new(new SocketsHttpHandler { UseProxy = false })
    {
        BaseAddress = At(Gateway, ""),
        Timeout = TimeSpan.FromSeconds(3),
    };

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

    public Task<string> SayReadyAsync() => _patient.GetStringAsync(At(Gateway, "readyz"));

    public Task<string> SummariseAsync() => _patient.GetStringAsync(At(Gateway, "payments-summary"));

    /// <summary>The statuses of an operator's call at both instances' ports, and where everybody pays.</summary>
    public async Task<HttpStatusCode[]> OperatorStatusesAsync()
    {
        var statuses = new List<HttpStatusCode>();
        foreach (var port in Operators.Append(Gateway))
        {
            using var answer = await _patient.GetAsync(At(port, "admin/actions"));
            statuses.Add(answer.StatusCode);
        }

        return [.. statuses];
    }

    public Task<ProcessorStore[]> StoresAsync() => Task.WhenAll(Processors.Select(async one => new ProcessorStore(
        one.Name, (await _patient.GetFromJsonAsync<List<ProcessorPayment>>(At(one.Port, "admin/payments")))!)));

    /// <summary>From now on a processor is as slow, and fails or not.</summary>
    public async Task SetAsync(string processor, int delay, bool failure)
    {
        var port = Processors.Single(one => one.Name == processor).Port;
        using var slow = await _patient.PutAsJsonAsync(At(port, "admin/configurations/delay"), new { delay });
        using var fails = await _patient.PutAsJsonAsync(At(port, "admin/configurations/failure"), new { failure });
        slow.EnsureSuccessStatusCode();
        fails.EnsureSuccessStatusCode();
    }

    /// <summary>Empties the gateway and the processors.</summary>
    public async Task PurgeAsync()
    {
        Uri[] purges =
            [At(Gateway, "purge-payments"), .. Processors.Select(one => At(one.Port, "admin/purge-payments"))];
        foreach (var purge in purges)
        {
            using var purged = await _patient.PostAsync(purge, null);
            purged.EnsureSuccessStatusCode();
        }
    }

    public void Dispose()
    {
        Clients.Dispose();
        _patient.Dispose();
    }

    private static Uri At(int port, string path) =>
        new(string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{port}/{path}"));
}
