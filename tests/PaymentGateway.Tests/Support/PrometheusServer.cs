namespace PaymentGateway.Tests.Support;

/// <summary>A real Prometheus with the configuration and rules of ops/prometheus, on ports of a test's own.</summary>
internal sealed class PrometheusServer : IAsyncDisposable
{
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("prometheus");
    private readonly HttpClient _http;
    private readonly Process _process;

    private PrometheusServer(int adminPort, int entryPort, string port)
    {
        foreach (var file in Directory.GetFiles(Repository.PathOf("ops", "prometheus"), "*.yml"))
            File.WriteAllText(
                Path.Combine(_directory.FullName, Path.GetFileName(file)),
                // A test does not wait 15 s for a sample.
                File.ReadAllText(file).Replace("127.0.0.1:9101", $"127.0.0.1:{adminPort}", StringComparison.Ordinal)
                    .Replace("127.0.0.1:9102", $"127.0.0.1:{adminPort + 1}", StringComparison.Ordinal)
                    .Replace("127.0.0.1:9999", $"127.0.0.1:{entryPort}", StringComparison.Ordinal)
                    .Replace("_interval: 15s", "_interval: 1s", StringComparison.Ordinal)
                    .Replace("scrape_timeout: 5s", "scrape_timeout: 1s", StringComparison.Ordinal));
        _http = UnixHttp.Plain(new Uri($"http://127.0.0.1:{port}"));
        _process = Process.Start(new ProcessStartInfo("prometheus",
        [
            "--config.file=prometheus.yml", $"--storage.tsdb.path={Path.Combine(_directory.FullName, "data")}",
            $"--web.listen-address=127.0.0.1:{port}", "--log.level=error",
        ])
        {
            WorkingDirectory = _directory.FullName,
        })!;
    }

    public static async Task<PrometheusServer> StartAsync(int adminPort, int entryPort)
    {
        var server = new PrometheusServer(adminPort, entryPort, GatewaySystemSettings.FreePort());
        await Eventually.HoldsAsync(server.IsReadyAsync, "Prometheus is ready");
        return server;
    }

    public async Task<List<(Dictionary<string, string> Labels, string Value)>> QueryAsync(string expression)
    {
        using var answer = await _http.GetAsync($"api/v1/query?query={Uri.EscapeDataString(expression)}");
        var body = await answer.Content.ReadAsStringAsync();
        Assert.True(answer.IsSuccessStatusCode, $"{expression}: {body}");
        using var json = JsonDocument.Parse(body);
        return json.RootElement.GetProperty("data").GetProperty("result").EnumerateArray()
            .Select(series => (
                series.GetProperty("metric").Deserialize<Dictionary<string, string>>()!,
                series.GetProperty("value")[1].GetString()!))
            .ToList();
    }

    public async ValueTask DisposeAsync()
    {
        _http.Dispose();
        _process.Kill();
        await _process.WaitForExitAsync();
        _process.Dispose();
        _directory.Delete(recursive: true);
    }

    private Task<bool> IsReadyAsync()
    {
        Assert.False(_process.HasExited, "Prometheus has ended.");
        return Eventually.IsReadyAsync(_http, "-/ready");
    }
}
