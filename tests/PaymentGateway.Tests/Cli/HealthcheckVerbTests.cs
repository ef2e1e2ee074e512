using PaymentGateway.Cli;
using PaymentGateway.Tests.EndToEnd;

namespace PaymentGateway.Tests.Cli;

/// <summary>`PaymentGateway healthcheck`, the published binary beside running ones.</summary>
[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class HealthcheckVerbTests(ITestOutputHelper output)
{
    private const string Urls = "ASPNETCORE_URLS";

    [GatewaySystemFact]
    public async Task The_health_check_says_ready_only_while_the_instance_can_accept_payments()
    {
        await using var system = await GatewaySystem.UpAsync();
        var urls = system.ChildSettings(GatewaySystem.First)[Urls];

        await SaysAsync(urls, 0, "ready");
        await system.StopAsync("postgres");
        await Eventually.HoldsAsync(
            async () => (await AskAsync(urls)).ExitCode == 1, "the instance is not ready without its database");
        await SaysAsync(urls, 1, $"not ready: {urls} answered 503");
        await system.KillAsync(GatewaySystem.First);
        await SaysAsync(urls, 1, $"not ready: {urls}: Connection refused");
    }

    [GatewaySystemTheory]
    [InlineData(null, "not ready: ASPNETCORE_URLS is not set")]
    [InlineData("http://unix:/nowhere/at/all.sock", "not ready: http://unix:/nowhere/at/all.sock: ")]
    [InlineData("http://127.0.0.1:9", "not ready: http://127.0.0.1:9: Connection refused")]
    [InlineData("nowhere", "not ready: nowhere: Invalid URI")]
    public Task Without_an_instance_the_health_check_says_why(string? urls, string line) => SaysAsync(urls, 1, line);

    private async Task SaysAsync(string? urls, int exitCode, string begin)
    {
        var run = await AskAsync(urls);
        output.WriteLine($"{run.Output.Trim()} ({run.Took.TotalMilliseconds:0} ms)");

        Assert.Equal(exitCode, run.ExitCode);
        Assert.Empty(run.Errors);
        Assert.StartsWith(begin, Assert.Single(run.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries)));
        Assert.True(run.Took < TimeSpan.FromSeconds(3), "longer than the limit of the Dockerfile's HEALTHCHECK");
    }

    private static Task<ProgramRun> AskAsync(string? urls) =>
        ProgramRun.RunAsync([GatewaySystemParts.Gateway, HealthcheckVerb.Name], variables: (Urls, urls));
}
