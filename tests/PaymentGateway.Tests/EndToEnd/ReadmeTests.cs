namespace PaymentGateway.Tests.EndToEnd;

/// <summary>README's «Try it», command by command, as a new user types it: only the ports are the system's.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class ReadmeTests : IDisposable
{
    private static readonly Regex Section = new(
        @"^## Try it\n.*?(?=^## )", RegexOptions.Multiline | RegexOptions.Singleline);
    private static readonly Regex Command = new(@"^    (\S(?:.*\\\n)*.*)$", RegexOptions.Multiline);
    private static readonly Regex Name = new(@"^\w+=\S+$");
    private static readonly Regex Port = new(@"127\.0\.0\.1:(9999|9101|8001)\b");
    private static readonly Regex Link = new(@"\]\((http://127\.0\.0\.1:[^)]+)\)");

    private const string Show = "curl http://127.0.0.1:9999/payments/$id";

    // They kill and start an instance; a command that is none of these and has no step is red.
    private static readonly string[] NotRun = ["docker compose kill api1", "docker compose start api1"];

    private readonly DirectoryInfo _home = Directory.CreateTempSubdirectory("payment-gateway-readme");
    private readonly string _page = Section.Match(File.ReadAllText(Repository.PathOf("README.md"))).Value;
    private readonly List<string> _names = [];

    public void Dispose() => _home.Delete(recursive: true);

    [GatewaySystemFact]
    public async Task Every_command_and_every_link_does_what_the_page_says()
    {
        // No proxy comes between, and the status comes last.
        await File.WriteAllTextAsync(
            Path.Combine(_home.FullName, ".curlrc"), "silent\nnoproxy = \"*\"\nwrite-out = \"\\n%{http_code}\"\n");
        var commands = Command.Matches(_page).Select(line => line.Groups[1].Value.Trim()).ToList();
        // The tokens of `make run`, and windows that close soon.
        await using var system = await GatewaySystem.UpAsync(
        [
            .. SystemSettings.From([]).WithReconciliation().OfGateway().Select(one => (one.Key, one.Value)),
            ("Gateway__Settling__CallTimeout", "1s"), ("Gateway__Settling__InDoubtHorizon", "1s"),
        ]);
        var pay = "";
        var steps = new Queue<(string Has, Func<string, Task> Try)>(
        [
            ("http://127.0.0.1:9999/payments", async command =>
            {
                Assert.Contains("Location: /payments/", await RunAsync(system, pay = command, 202));
                await StateAsync(system, "settled");
            }),
            ("""{"failure":true}""", command => BreakDefaultAsync(system, command, pay)),
            ("/payments/$id", async command =>
                Assert.Contains("\"state\":\"settled\"", await RunAsync(system, command, 200))),
            ("/admin/reconciliations", command => Eventually.HoldsAsync(
                async () => PaymentsCompared(await RunAsync(system, command, 200)) == 2, "both are compared")),
        ]);

        foreach (var command in commands.Where(one => !Array.Exists(NotRun, one.StartsWith)))
            if (Name.IsMatch(command))
                _names.Add(command);
            else
            {
                Assert.True(steps.TryDequeue(out var step) && command.Contains(step.Has), $"No step for: {command}");
                await step.Try(command);
            }

        Assert.Empty(steps);
        var links = Link.Matches(_page).Select(link => link.Groups[1].Value).ToList();
        Assert.True(links.Count >= 2);
        foreach (var link in links)
            await RunAsync(system, $"curl {link}", 200);
    }

    // The payment waits, and `default` is mended before the fallback delay ends.
    private async Task BreakDefaultAsync(GatewaySystem system, string command, string pay)
    {
        var before = (await system.Default.CallsAsync()).Posts;
        await RunAsync(system, command, 200);
        _names.Add($"id={Guid.NewGuid()}");
        await RunAsync(system, pay, 202);
        await Eventually.HoldsAsync(
            async () => (await system.Default.CallsAsync()).Posts > before, "default was asked, and refused");
        await StateAsync(system, "accepted");
        await RunAsync(system, command.Replace("true", "false", StringComparison.Ordinal), 200);
        await StateAsync(system, "settled");
        Assert.Equal(2, (await system.Default.PaymentsAsync()).Count);
    }

    private static int PaymentsCompared(string answer)
    {
        var report = JsonDocument.Parse(answer).RootElement.GetProperty("report");
        Assert.Equal("agrees", report.GetProperty("outcome").GetString());
        return report.GetProperty("processors").TryGetProperty("default", out var sides)
            ? sides.GetProperty("ledger").GetProperty("payments").GetInt32()
            : 0;
    }

    private Task StateAsync(GatewaySystem system, string state) => Eventually.HoldsAsync(
        async () => (await RunAsync(system, Show, 200)).Contains($"\"state\":\"{state}\"", StringComparison.Ordinal),
        $"it is {state}");

    // An operator's calls are answered through nginx here.
    private async Task<string> RunAsync(GatewaySystem system, string command, int status)
    {
        var (gateway, processor) = ($"127.0.0.1:{system.Address.Port}", system.Default.BaseAddress.Authority);
        var script = Port.Replace(command, port => port.Groups[1].Value == "8001" ? processor : gateway);
        ShellResult run = null!;
        // On a slow machine the answer is 503 at first.
        await Eventually.HoldsAsync(
            async () =>
            {
                run = await Shell.RunAsync(
                    ["bash", "-euc", $"{string.Join('\n', _names)}\n{script}"],
                    variables: new Dictionary<string, string?> { ["CURL_HOME"] = _home.FullName });
                return !run.Output.EndsWith("\n503", StringComparison.Ordinal);
            },
            $"another answer than 503 to {command}");
        Assert.True(run.Succeeded && run.Output.EndsWith($"\n{status}", StringComparison.Ordinal), $"{command}: {run}");
        return run.Output[..^4];
    }
}
