using System.Net.Http.Json;
using PaymentGateway.Tools.Comparing;

namespace PaymentGateway.Tools.Containers;

/// <summary>HTTP to the ports that the containers publish: nginx's, the simulators' and the instances'.</summary>
internal sealed class EngineClients : IDisposable
{
    private const int Gateway = 9999;
    private const int Default = 8001;
    private const int Fallback = 8002;
    private static readonly int[] Operators = [9101, 9102];

    private readonly HttpClient _patient = new(new SocketsHttpHandler { UseProxy = false })
    {
        Timeout = TimeSpan.FromSeconds(10),
        DefaultRequestHeaders = { { "X-Rinha-Token", "123" } }, // The processors ask for it.
    };

    public static IReadOnlyList<int> Ports => [Gateway, Default, Fallback, .. Operators];

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

    /// <summary>What both processors have stored.</summary>
    public async Task<ProcessorStores> StoresAsync() => new(await StoredAsync(Default), await StoredAsync(Fallback));

    /// <summary>Empties all three.</summary>
    public async Task PurgeAsync()
    {
        Uri[] purges =
            [At(Gateway, "purge-payments"), At(Default, "admin/purge-payments"), At(Fallback, "admin/purge-payments")];
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

    private async Task<List<ProcessorPayment>> StoredAsync(int processor) =>
        (await _patient.GetFromJsonAsync<List<ProcessorPayment>>(At(processor, "admin/payments")))!;

    private static Uri At(int port, string path) =>
        new(string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{port}/{path}"));
}
