using Microsoft.AspNetCore.Builder;
using ProcessorSimulator;

namespace PaymentGateway.Tests.Support;

/// <summary>A processor over real HTTP: started in this process, or attached to one that runs outside.</summary>
public sealed class SimulatedProcessor : IAsyncDisposable
{
    public const string InitialToken = "123";

    private readonly WebApplication? _app;
    private readonly HttpClient _admin;

    private SimulatedProcessor(Uri baseAddress, string token, WebApplication? app)
    {
        _app = app;
        BaseAddress = baseAddress;
        Client = UnixHttp.Plain(baseAddress);
        _admin = UnixHttp.Plain(baseAddress);
        Token = token;
    }

    public Uri BaseAddress { get; }

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

    public async Task HealAsync(TimeSpan delay = default)
    {
        await ClearFaultsAsync();
        await SetDelayAsync(delay);
        await SetFailureAsync(false);
    }

    public Task ClearFaultsAsync() => DoAsync(HttpMethod.Post, "admin/faults/reset");

    public Task PurgeAsync() => DoAsync(HttpMethod.Post, "admin/purge-payments");

    /// <summary>All payments if either bound is missing, as the contract says.</summary>
    public async Task<ProcessorSummary> SummariseAsync(DateTimeOffset? from = null, DateTimeOffset? to = null)
    {
        var bounds = string.Join('&', Bound("from", from), Bound("to", to));
        return (await _admin.GetFromJsonAsync<ProcessorSummary>($"admin/payments-summary?{bounds}"))!;
    }

    public async Task<IReadOnlyDictionary<Guid, ProcessorPayment>> PaymentsAsync(
        DateTimeOffset? from = null, DateTimeOffset? to = null)
    {
        var bounds = string.Join('&', Bound("from", from), Bound("to", to));
        var payments = await _admin.GetFromJsonAsync<ProcessorPayment[]>($"admin/payments?{bounds}");
        return payments!.ToDictionary(payment => payment.CorrelationId);
    }

    /// <summary>Has it hold payments that nobody has charged there.</summary>
    public Task PlantAsync(IEnumerable<ProcessorPayment> payments) =>
        DoAsync(HttpMethod.Post, "admin/payments", payments);

    /// <summary>Waits until so many calls hang at a fault: those are past the failure switch.</summary>
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

    private static string Bound(string name, DateTimeOffset? time) =>
        time is null ? "" : $"{name}={time.Value.UtcDateTime.ToString("O", CultureInfo.InvariantCulture)}";

    private Task PutAsync(string path, object body) => DoAsync(HttpMethod.Put, path, body);

    private async Task DoAsync(HttpMethod method, string path, object? body = null)
    {
        using var content = body is null ? null : JsonContent.Create(body);
        using var response = await SendAdminAsync(method, path, content);
        response.EnsureSuccessStatusCode();
    }
}

public sealed record ProcessorSummary(
    long TotalRequests, decimal TotalAmount, decimal TotalFee, decimal FeePerTransaction);

/// <summary>Calls since a simulated processor's start or last purge, and the calls in flight now.</summary>
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
