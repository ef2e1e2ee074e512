using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;

namespace PaymentGateway.Tests.Support;

/// <summary>A peer over real HTTP that answers each call as a test says, and remembers the calls.</summary>
internal sealed class ScriptedPeer : IAsyncDisposable
{
    private readonly ConcurrentQueue<string> _calls = new();
    private readonly WebApplication _app;

    private ScriptedPeer(WebApplication app, RequestDelegate answer)
    {
        _app = app;
        app.Run(context =>
        {
            _calls.Enqueue($"{context.Request.Method} {context.Request.Path} {context.Request.Headers.UserAgent}");
            return answer(context);
        });
    }

    public Uri Url => new(_app.Urls.Single());

    /// <summary>Method, path and User-Agent of each call.</summary>
    public IReadOnlyCollection<string> Calls => _calls;

    public static async Task<ScriptedPeer> StartAsync(RequestDelegate answer)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0));
        builder.Logging.ClearProviders();
        var peer = new ScriptedPeer(builder.Build(), answer);
        await peer._app.StartAsync();
        return peer;
    }

    public ValueTask DisposeAsync() => _app.DisposeAsync();
}
