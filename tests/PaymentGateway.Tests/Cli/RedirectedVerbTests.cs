using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace PaymentGateway.Tests.Cli;

/// <summary>A verb whose address answers with a redirection.</summary>
public sealed class RedirectedVerbTests
{
    [Fact]
    public async Task Redirections_are_not_followed_because_the_token_would_go_with_them()
    {
        var visits = 0;
        var builder = WebApplication.CreateSlimBuilder(["--urls=http://127.0.0.1:0"]);
        builder.Logging.ClearProviders();
        await using var app = builder.Build();
        app.MapGet("/elsewhere", () => Interlocked.Increment(ref visits).ToString());
        app.MapFallback((HttpContext context) => context.Response.Redirect("/elsewhere"));
        await app.StartAsync();

        var verb = await Verb.RunAsync("payments", "list", "--url", app.Urls.Single(), "--token", "secret");

        Assert.NotEqual(0, verb.ExitCode);
        Assert.Equal(0, visits);
    }
}
