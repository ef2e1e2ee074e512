using System.Globalization;
using System.Net;
using System.Net.Http.Json;
using System.Net.Sockets;
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

    public EngineClients(IEngine engine)
    {
        Clients = To(engine, Gateway, TimeSpan.FromSeconds(3));
        _patient = To(engine, Gateway, TimeSpan.FromSeconds(10));
        _processors = Processors.Select(port => To(engine, port, TimeSpan.FromSeconds(10))).ToArray();
        _operators = Operators.Select(port => To(engine, port, TimeSpan.FromSeconds(10))).ToArray();
        foreach (var processor in _processors)
            processor.DefaultRequestHeaders.Add("X-Rinha-Token", "123");
    }

    /// <summary>The gateway as payers see it: they wait for 3 s.</summary>
    public HttpClient Clients { get; }

    public async Task<bool> IsReadyAsync() => await TryAsync(async () =>
    {
        using var answer = await Clients.GetAsync("readyz");
        return answer.IsSuccessStatusCode;
    });

    public Task<string> SayReadyAsync() => _patient.GetStringAsync("readyz");

    public Task<string> SummariseAsync() => _patient.GetStringAsync("payments-summary");

    /// <summary>The statuses of an operator's call at both instances' ports, and where everybody pays.</summary>
    public async Task<HttpStatusCode[]> OperatorStatusesAsync()
    {
        var statuses = new List<HttpStatusCode>();
        foreach (var client in _operators.Append(_patient))
        {
            using var answer = await client.GetAsync("payments?state=parked");
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

    private static async Task<bool> TryAsync(Func<Task<bool>> ask)
    {
        try
        {
            return await ask();
        }
        catch (Exception unavailable) when (
            unavailable is HttpRequestException or OperationCanceledException or IOException)
        {
            return false;
        }
    }

    private static HttpClient To(IEngine engine, int port, TimeSpan limit) => new(new SocketsHttpHandler
    {
        UseProxy = false,
        ConnectCallback = async (_, cancellation) =>
        {
            var socket = engine.NewSocket();
            try
            {
                socket.NoDelay = true;
                await socket.ConnectAsync(new IPEndPoint(IPAddress.Loopback, port), cancellation);
                return new NetworkStream(socket, ownsSocket: true);
            }
            catch
            {
                socket.Dispose();
                throw;
            }
        },
    })
    {
        BaseAddress = new Uri(string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{port}")),
        Timeout = limit,
    };
}
