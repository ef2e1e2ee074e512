using Microsoft.AspNetCore.Builder;
using ProcessorSimulator;

namespace PaymentGateway.Tests.Support;

/// <summary>
/// A payment processor over real HTTP: started in this process on a free port, or attached to one that runs outside.
/// </summary>
public sealed class SimulatedProcessor : IAsyncDisposable
{
    public const string InitialToken = "123";

    private readonly WebApplication? _app;
    private readonly HttpClient _admin;

    private SimulatedProcessor(Uri baseAddress, string token, WebApplication? app)
    {
        _app = app;
        BaseAddress = baseAddress;
        Client = NewClient(baseAddress);
        _admin = NewClient(baseAddress);
        Token = token;
    }

    public Uri BaseAddress { get; }

    /// <summary>Calls the processor as a gateway would, without the token.</summary>
    public HttpClient Client { get; }

    /// <summary>Goes with every admin call; a test that changes the processor's token changes it here too.</summary>
    public string Token
    {
        get => _admin.DefaultRequestHeaders.GetValues("X-Rinha-Token").Single();
        set
        {
            _admin.DefaultRequestHeaders.Remove("X-Rinha-Token");
            _admin.DefaultRequestHeaders.Add("X-Rinha-Token", value);
        }
    }

    public static async Task<SimulatedProcessor> StartAsync(
        TimeProvider? clock = null,
        decimal feePerTransaction = 0.05m,
        string token = InitialToken,
        int paymentsMax = 5_000_000)
    {
        string[] args =
        [
            "--urls=http://127.0.0.1:0",
            string.Create(CultureInfo.InvariantCulture, $"--Simulator:FeePerTransaction={feePerTransaction}"),
            $"--Simulator:Token={token}",
            "--Simulator:Delay=0",
            "--Simulator:Failing=false",
            string.Create(CultureInfo.InvariantCulture, $"--Simulator:MaxPayments={paymentsMax}"),
        ];
        var app = SimulatorApp.Create(args, clock);
        await app.StartAsync();
        return new SimulatedProcessor(new Uri(app.Urls.Single()), token, app);
    }

    /// <summary>Disposing what was attached leaves the outside process running.</summary>
    public static SimulatedProcessor Attach(Uri baseAddress, string token = InitialToken) =>
        new(baseAddress, token, app: null);

    public Task SetDelayAsync(TimeSpan delay) =>
        PutAsync("admin/configurations/delay", new { delay = (int)delay.TotalMilliseconds });

    public Task SetFailureAsync(bool failure) => PutAsync("admin/configurations/failure", new { failure });

    /// <summary>For example <c>new { afterInsert = "reset", times = 1 }</c>; an unknown field is refused.</summary>
    public Task SetFaultsAsync(object faults) => PutAsync("admin/faults", faults);

    /// <summary>How many more payments the fault that is set would hit; null when it has no number.</summary>
    public async Task<int?> FaultTimesLeftAsync() =>
        (await _admin.GetFromJsonAsync<JsonElement>("admin/faults")).TryGetProperty("times", out var times)
        && times.ValueKind == JsonValueKind.Number ? times.GetInt32() : null;

    /// <summary>Nothing fails any more.</summary>
    public async Task HealAsync(TimeSpan delay = default)
    {
        await ClearFaultsAsync();
        await SetDelayAsync(delay);
        await SetFailureAsync(false);
    }

    public Task ClearFaultsAsync() => PostAsync("admin/faults/reset");

    public Task PurgeAsync() => PostAsync("admin/purge-payments");

    /// <summary>All payments if either bound is missing, as the contract says.</summary>
    public async Task<ProcessorSummary> SummariseAsync(DateTimeOffset? from = null, DateTimeOffset? to = null)
    {
        var bounds = string.Join('&', Bound("from", from), Bound("to", to));
        return (await _admin.GetFromJsonAsync<ProcessorSummary>($"admin/payments-summary?{bounds}"))!;
    }

    /// <summary>What is stored there, of all time or with a requestedAt within these bounds.</summary>
    public async Task<IReadOnlyDictionary<Guid, ProcessorPayment>> PaymentsAsync(
        DateTimeOffset? from = null, DateTimeOffset? to = null)
    {
        var bounds = string.Join('&', Bound("from", from), Bound("to", to));
        var payments = await _admin.GetFromJsonAsync<ProcessorPayment[]>($"admin/payments?{bounds}");
        return payments!.ToDictionary(payment => payment.CorrelationId);
    }

    /// <summary>Has it hold payments that nobody has charged there.</summary>
    public async Task PlantAsync(IEnumerable<ProcessorPayment> payments)
    {
        using var content = JsonContent.Create(payments);
        using var response = await SendAdminAsync(HttpMethod.Post, "admin/payments", content);
        response.EnsureSuccessStatusCode();
    }

    /// <summary>
    /// Waits until so many calls wait for a fault to be cleared. They are past the failure switch then; a call that is
    /// only counted as a POST or as in flight is not.
    /// </summary>
    public Task HoldsAsync(int calls) => Eventually.HoldsAsync(
        async () => (await CallsAsync()).Held >= calls, $"{calls} calls hang at the processor");

    public async Task<bool> IsBusyAsync() => await CallsAsync() is { InFlight: > 0 } or { Queued: > 0 };

    public async Task<IReadOnlyDictionary<string, long>> CallersAsync() =>
        (await _admin.GetFromJsonAsync<Dictionary<string, long>>("admin/callers"))!;

    public async Task<ProcessorCalls> CallsAsync() => (await _admin.GetFromJsonAsync<ProcessorCalls>("admin/calls"))!;

    /// <summary>An admin call that this class has no method for; the token goes with it.</summary>
    public Task<HttpResponseMessage> SendAdminAsync(HttpMethod method, string path, HttpContent? body = null) =>
        _admin.SendAsync(new HttpRequestMessage(method, path) { Content = body });

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        _admin.Dispose();
        if (_app is null)
            return;
        await _app.StopAsync();
        await _app.DisposeAsync();
    }

    private static HttpClient NewClient(Uri baseAddress) =>
        new(new SocketsHttpHandler { UseProxy = false }) { BaseAddress = baseAddress };

    private static string Bound(string name, DateTimeOffset? time) =>
        time is null ? "" : $"{name}={time.Value.UtcDateTime.ToString("O", CultureInfo.InvariantCulture)}";

    private async Task PutAsync(string path, object body)
    {
        using var content = JsonContent.Create(body);
        using var response = await SendAdminAsync(HttpMethod.Put, path, content);
        response.EnsureSuccessStatusCode();
    }

    private async Task PostAsync(string path)
    {
        using var response = await SendAdminAsync(HttpMethod.Post, path);
        response.EnsureSuccessStatusCode();
    }
}

/// <summary>What a processor's summary says.</summary>
public sealed record ProcessorSummary(
    long TotalRequests, decimal TotalAmount, decimal TotalFee, decimal FeePerTransaction);

/// <summary>What a simulated processor has counted since its start or its last purge, and what it holds now.</summary>
public sealed record ProcessorCalls(
    long Posts,
    long Lookups,
    long HealthCalls,
    long Refused429,
    long Duplicates422,
    int MaxInFlight,
    int InFlight,
    int Queued,
    int Held,
    long Summaries);
