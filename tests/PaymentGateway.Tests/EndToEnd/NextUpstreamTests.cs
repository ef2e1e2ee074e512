using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>How many instances a real nginx asks, when each answers with 503 or does not answer.</summary>
public sealed class NextUpstreamTests : IAsyncLifetime
{
    private const string Mute = "?mute";

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);
    // A client's own: two mute instances take 4.4 s of it.
    private static readonly TimeSpan ClientLimit = TimeSpan.FromSeconds(5);

    private readonly OwnNginx _nginx = OwnNginx.Prepare();
    private readonly List<WebApplication> _instances = [];
    private readonly ConcurrentQueue<string> _asked = new();

    public Task InitializeAsync()
    {
        _nginx.Write("nginx.conf", ("listen 9999", $"listen {_nginx.Port}"));
        return Task.CompletedTask;
    }

    public async Task DisposeAsync()
    {
        foreach (var instance in _instances)
            await instance.DisposeAsync();
        await _nginx.DisposeAsync();
    }

    [GatewaySystemTheory]
    [InlineData("hosts.conf", "payments", 3)]
    [InlineData("hosts.conf", "purge-payments", 1)]
    [InlineData("hosts.conf", "Purge-Payments/", 1)]
    [InlineData("one-machine.conf", "payments", 1)]
    [InlineData("one-machine.conf", "purge-payments", 1)]
    public async Task A_503_goes_to_another_host_and_that_of_a_purge_never(string upstreams, string path, int asked)
    {
        await StartRefusingAsync(upstreams);
        using var client = Connect();

        using var answer = await client.PostAsync(path, null);

        Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
        Assert.Equal(Enumerable.Repeat($"/{path}", asked), _asked);
    }

    [GatewaySystemTheory]
    [InlineData("hosts.conf")]
    [InlineData("one-machine.conf")]
    public async Task A_payment_at_two_mute_instances_is_answered_before_its_client_gives_up(string upstreams)
    {
        await StartRefusingAsync(upstreams);
        using var client = Connect();

        using var answer = await client.PostAsync("payments" + Mute, null);

        Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
        Assert.Equal(["/payments", "/payments"], _asked);
        // nginx sends the headers that the instances send.
        Assert.Equal("no-store", answer.Headers.CacheControl?.ToString());
        Assert.Equal("nosniff", Assert.Single(answer.Headers.GetValues("X-Content-Type-Options")));
    }

    // nginx asks each line of its upstreams once: these have asked both of the first instance's when it starts.
    [GatewaySystemFact]
    public async Task Payments_of_an_instance_that_dies_when_the_other_has_just_started_are_accepted()
    {
        const int Payments = 3;
        using var held = new SemaphoreSlim(0);
        var death = new TaskCompletionSource();
        await ServeAsync(_nginx.SocketOf(GatewaySystem.Second), async context =>
        {
            held.Release();
            await death.Task;
            context.Abort();
        });
        await _nginx.StartAsync("one-machine.conf");
        using var client = Connect();

        var posts = Enumerable.Range(0, Payments)
            .Select(_ => client.PostAsync("payments", JsonContent.Create(1))).ToList();
        for (var at = 0; at < Payments; at++)
            Assert.True(await held.WaitAsync(Limit));
        await ServeAsync(_nginx.SocketOf(GatewaySystem.First), context =>
        {
            context.Response.StatusCode = 202;
            return Task.CompletedTask;
        });
        death.SetResult();

        foreach (var answer in await Task.WhenAll(posts))
            using (answer)
                Assert.Equal(HttpStatusCode.Accepted, answer.StatusCode);
    }

    private HttpClient Connect() => UnixHttp.Plain(new Uri($"http://127.0.0.1:{_nginx.Port}"), ClientLimit);

    // All hosts, or both instances of one.
    private async Task StartRefusingAsync(string upstreams)
    {
        foreach (var instance in new[] { GatewaySystem.First, GatewaySystem.Second })
            await ServeAsync(_nginx.SocketOf(instance), context =>
            {
                _asked.Enqueue(context.Request.Path);
                context.Response.StatusCode = 503;
                return context.Request.QueryString.Value == Mute
                    ? Task.Delay(Limit, context.RequestAborted)
                    : Task.CompletedTask;
            });
        var host = $"unix:{_nginx.SocketOf(GatewaySystem.First)}";
        await _nginx.StartAsync(upstreams, upstreams == "hosts.conf"
            ? [("10.0.0.11:8080", host), ("10.0.0.12:8080", host), ("10.0.0.13:8080", host)]
            : []);
    }

    private Task ServeAsync(string socket, RequestDelegate answer)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseUrls($"http://unix:{socket}");
        builder.Logging.ClearProviders();
        _instances.Add(builder.Build());
        _instances[^1].Run(answer);
        return _instances[^1].StartAsync();
    }
}
