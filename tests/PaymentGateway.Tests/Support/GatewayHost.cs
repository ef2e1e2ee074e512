using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using PaymentGateway.Hosting;

namespace PaymentGateway.Tests.Support;

/// <summary>A gateway in this process, on a Unix socket of its own: the whole of it, as Program starts it.</summary>
internal sealed class GatewayHost : IAsyncDisposable
{
    private readonly DirectoryInfo _directory;
    private readonly WebApplication _app;
    private readonly HttpClient _client;

    private GatewayHost(DirectoryInfo directory, WebApplication app)
    {
        (_directory, _app) = (directory, app);
        _client = UnixHttp.To(Socket);
    }

    public string Socket => SocketIn(_directory);

    public string Url => $"http://unix:{Socket}";

    public static async Task<GatewayHost> StartAsync(
        TestDatabase database, SimulatedProcessor defaultProcessor, SimulatedProcessor fallbackProcessor,
        TimeProvider clock, params string[] settings)
    {
        var directory = Directory.CreateTempSubdirectory("gateway");
        string[] args =
        [
            $"--urls=http://unix:{SocketIn(directory)}",
            $"--ConnectionStrings:Ledger={database.ConnectionString};Multiplexing=true",
            $"--Gateway:Processors:Default:BaseUrl={defaultProcessor.BaseAddress}",
            $"--Gateway:Processors:Fallback:BaseUrl={fallbackProcessor.BaseAddress}",
            "--Gateway:Storage:Profile=Unlogged",
            "--Gateway:Settling:DrainTimeout=1s",
            $"--Gateway:Admin:Urls=http://unix:{SocketIn(directory)}",
            "--Logging:LogLevel:Default=None",
            // Not even when a test asks for more: it has a provider of its own.
            "--Logging:Console:LogLevel:Default=None",
            .. settings.Select(setting => setting.StartsWith("Logging:LogLevel:", StringComparison.Ordinal)
                ? "--" + setting
                : "--Gateway:" + setting),
        ];
        var app = GatewayApp.Create(args, clock);
        await app.StartAsync();
        return new GatewayHost(directory, app);
    }

    public Epoch Epoch => Part<Lease>().Current;

    public T Part<T>() where T : notnull => _app.Services.GetRequiredService<T>();

    public async Task<HttpStatusCode> PayAsync(Guid id, decimal amount = 19.90m)
    {
        using var answer = await PostPaymentAsync(id, amount);
        return answer.StatusCode;
    }

    public async Task<HttpResponseMessage> PostPaymentAsync(
        Guid id, decimal amount = 19.90m, string path = "payments", string? token = null)
    {
        using var request = new HttpRequestMessage(HttpMethod.Post, path);
        request.Content = JsonContent.Create(new { correlationId = id, amount });
        if (token is not null)
            request.Headers.TryAddWithoutValidation("X-Rinha-Token", token);
        return await _client.SendAsync(request);
    }

    /// <summary>Posts a new payment until it is taken: a slow first statement makes it 503.</summary>
    public async Task<Guid> PayAsync()
    {
        var (id, answer) = (Guid.NewGuid(), HttpStatusCode.ServiceUnavailable);
        await Eventually.HoldsAsync(
            async () => (answer = await PayAsync(id)) != HttpStatusCode.ServiceUnavailable, "a payment is taken");
        Assert.Equal(HttpStatusCode.Accepted, answer);
        return id;
    }

    public async Task<HttpStatusCode> PurgeAsync()
    {
        using var answer = await _client.PostAsync("purge-payments", null);
        return answer.StatusCode;
    }

    public Task<HttpResponseMessage> AskAsync(string path, params (string Name, string Value)[] headers) =>
        SendAsync(HttpMethod.Get, path, headers);

    public async Task<HttpResponseMessage> SendAsync(
        HttpMethod method, string path, params (string Name, string Value)[] headers)
    {
        using var request = new HttpRequestMessage(method, path);
        foreach (var (name, value) in headers)
            request.Headers.Add(name, value);
        return await _client.SendAsync(request);
    }

    public Task<HttpResponseMessage> PostAsync(string path, HttpContent? body = null) => _client.PostAsync(path, body);

    public Task<string> GetAsync(string path) => _client.GetStringAsync(path);

    public Task<EventReader> WatchAsync() => EventReader.StartAsync(_client);

    public async Task<HttpStatusCode> ReadyAsync()
    {
        using var answer = await _client.GetAsync("readyz");
        return answer.StatusCode;
    }

    public async ValueTask DisposeAsync()
    {
        _client.Dispose();
        await _app.StopAsync();
        await _app.DisposeAsync();
        _directory.Delete(recursive: true);
    }

    private static string SocketIn(DirectoryInfo directory) => Path.Combine(directory.FullName, "api.sock");
}
