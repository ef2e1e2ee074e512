using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// To how many instances a real nginx, with the files of the repository, takes a request that each answers with 503,
/// or does not answer.
/// </summary>
public sealed partial class NextUpstreamTests : IAsyncLifetime
{
    private const string Mute = "?mute";

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);
    // A client's own: two mute instances take 4.4 s of it.
    private static readonly TimeSpan ClientLimit = TimeSpan.FromSeconds(5);

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("payment-gateway-tests.");
    private readonly ConcurrentQueue<string> _asked = new();
    private readonly string _port = GatewaySystemSettings.FreePort();
    private readonly WebApplication _refusing = Create();

    public Task InitializeAsync()
    {
        _refusing.Run(context =>
        {
            _asked.Enqueue(context.Request.Path);
            context.Response.StatusCode = 503;
            return context.Request.QueryString.Value == Mute
                ? Task.Delay(Limit, context.RequestAborted)
                : Task.CompletedTask;
        });
        return _refusing.StartAsync();
    }

    public async Task DisposeAsync()
    {
        await _refusing.DisposeAsync();
        _folder.Delete(recursive: true);
    }

    [GatewaySystemTheory]
    [InlineData("hosts.conf", "/payments", 3)]
    [InlineData("hosts.conf", "/purge-payments", 1)]
    [InlineData("one-machine.conf", "/payments", 1)]
    [InlineData("one-machine.conf", "/purge-payments", 1)]
    public async Task A_503_goes_to_another_host_and_that_of_a_purge_never(string upstreams, string path, int asked)
    {
        using var answer = await PostAsync(upstreams, path);

        Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
        Assert.Equal(Enumerable.Repeat(path, asked), _asked);
    }

    [GatewaySystemTheory]
    [InlineData("hosts.conf")]
    [InlineData("one-machine.conf")]
    public async Task A_payment_at_two_mute_instances_is_answered_before_its_client_gives_up(string upstreams)
    {
        using var answer = await PostAsync(upstreams, "/payments" + Mute);

        Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
        Assert.Equal(["/payments", "/payments"], _asked);
        // By nginx, as the instances do.
        Assert.Equal("no-store", answer.Headers.CacheControl?.ToString());
        Assert.Equal("nosniff", Assert.Single(answer.Headers.GetValues("X-Content-Type-Options")));
    }

    /// <exception cref="TaskCanceledException">No answer within the client's limit.</exception>
    private async Task<HttpResponseMessage> PostAsync(string upstreams, string path)
    {
        using var nginx = Start(upstreams);
        try
        {
            using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false })
            {
                BaseAddress = new Uri($"http://127.0.0.1:{_port}"),
                Timeout = ClientLimit,
            };
            await Eventually.HoldsAsync(() => !GatewaySystemSettings.IsFree(int.Parse(_port)), "nginx listens");
            return await client.PostAsync(path, null);
        }
        finally
        {
            // TERM, so that its worker ends too.
            GatewaySystemInstance.Signal(nginx.Id, GatewaySystemInstance.Terminate);
            await nginx.WaitForExitAsync().WaitAsync(Limit);
        }
    }

    private Process Start(string upstreams)
    {
        var text = File.ReadAllText(Repository.PathOf("nginx", "upstreams", upstreams));
        File.WriteAllText(
            Path.Combine(_folder.FullName, "upstreams.conf"),
            Server().Replace(text, $"server {new Uri(_refusing.Urls.Single()).Authority}"));
        File.WriteAllText(
            Path.Combine(_folder.FullName, "nginx.conf"),
            File.ReadAllText(Repository.PathOf("nginx", "nginx.conf"))
                .Replace("listen 9999", $"listen {_port}", StringComparison.Ordinal));
        return Process.Start(new ProcessStartInfo(
            "nginx",
            [
                "-p", _folder.FullName + "/", "-c", "nginx.conf", "-e", "stderr",
                // Else its worker may not enter the folder of whoever runs the tests as root.
                "-g", "daemon off; user root;",
            ])
        {
            WorkingDirectory = _folder.FullName,
        })!;
    }

    private static WebApplication Create()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Logging.ClearProviders();
        return builder.Build();
    }

    [GeneratedRegex(@"server [\w./:]+")]
    private static partial Regex Server();
}
