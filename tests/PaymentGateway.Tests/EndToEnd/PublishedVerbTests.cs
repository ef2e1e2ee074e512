namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Each verb once with the published binary, which has no reflection to fall back on.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class PublishedVerbTests(RunningSystem running) : OnRunningSystem(running)
{
    [GatewaySystemFact]
    public async Task Every_verb_works_as_a_native_binary()
    {
        await LoadDriver.RunClientsAsync(System.Client, Ledger, clients: 2, payments: 10, TimeSpan.Zero);
        await LedgerCheck.AgreesAsync(System, Ledger);

        var status = await RunAsync(0, "status", "--json");
        using var read = JsonDocument.Parse(status);
        Assert.Equal(10, read.RootElement.GetProperty("default").GetProperty("totalRequests").GetInt32());
        Assert.Contains("default.totalAmount", await RunAsync(0, "status"), StringComparison.Ordinal);
        using var listed = JsonDocument.Parse(await RunAsync(0, "payments", "list", "--state", "settled", "--json"));
        Assert.Equal(10, listed.RootElement.GetArrayLength());
        var first = listed.RootElement[0];
        using var shown = JsonDocument.Parse(
            await RunAsync(0, "payments", "show", first.GetProperty("correlationId").GetString()!, "--json"));
        Assert.Equal(first.ToString(), shown.RootElement.ToString());
        Assert.Equal("none\n", await RunAsync(0, "payments", "list", "--state", "in_doubt"));
        Assert.Equal("", await RunAsync(1, "payments", "show", $"{Guid.NewGuid()}"));
        Assert.Equal("none\n", await RunAsync(0, "payments", "list", "--state", "parked"));
        Assert.Equal("replayed  0\n", await RunAsync(0, "parked", "replay", "--all"));
        Assert.Equal("", await RunAsync(1, "parked", "replay", $"{Guid.NewGuid()}"));
        Assert.StartsWith("version  ", await RunAsync(0, "migrate"), StringComparison.Ordinal);
        Assert.Equal("", await RunAsync(64, "purge"));
        Assert.Equal("""{"purged":true}""" + "\n", await RunAsync(0, "purge", "--yes", "--json"));
        Assert.Equal(0, await System.Database.CountAsync("payments"));
        Assert.Contains(
            "POST /purge-payments", await RunAsync(0, "actions", "--limit", "100000"), StringComparison.Ordinal);
        Assert.Equal("ready\n", await RunAsync(0, "healthcheck"));
    }

    [GatewaySystemFact]
    public async Task Help_version_and_completion_work_as_a_native_binary()
    {
        Assert.Contains("migrate", await RunAsync(0, "--help"), StringComparison.Ordinal);
        Assert.Contains("--limit", await RunAsync(0, "payments", "list", "--help"), StringComparison.Ordinal);
        Assert.Matches(@"^\d+\.\d+\.\d+", await RunAsync(0, "--version"));
        Assert.Equal("", await RunAsync(64, "rnu"));
        Assert.Equal("", await RunAsync(64, "payments", "show", "x"));
        Assert.Contains("#compdef", await RunAsync(0, "completion", "zsh"), StringComparison.Ordinal);
        // The completion of bash at a tab after «PaymentGateway payments ».
        var completed = await ProgramRun.RunAsync(
        [
            "bash", "-c", """
                source <("$0" completion bash)
                COMP_LINE='PaymentGateway payments ' COMP_POINT=24 COMP_WORDS=("$0" payments '')
                _payment_gateway
                printf '%s\n' "${COMPREPLY[@]}"
                """, GatewaySystemParts.Gateway,
        ]);
        Assert.Equal(["list", "show"], completed.Output.Split('\n').Intersect(["list", "show"]));
    }

    private async Task<string> RunAsync(int exitCode, params string[] arguments)
    {
        var settings = System.ChildSettings(GatewaySystem.First);
        var run = await ProgramRun.RunAsync(
            [GatewaySystemParts.Gateway, .. arguments], null,
            [.. settings.Select(pair => (pair.Key, pair.Value)),
                ("PAYMENT_GATEWAY_URL", System.Address.ToString())]);

        Assert.True(exitCode == run.ExitCode, $"{string.Join(' ', arguments)}: {run}");
        Assert.Equal(exitCode == 0, run.Errors.Length == 0);
        return run.Output;
    }
}
