using System.Net.Http.Headers;
using Microsoft.AspNetCore.Http;
using PaymentGateway.Cli;

namespace PaymentGateway.Tests.Cli;

public sealed class ConformanceVerbTests : OneSimulator
{
    private protected override TimeProvider SimulatorClock => TimeProvider.System;

    [Fact]
    public async Task A_simulator_that_keeps_the_contract_breaks_no_rule()
    {
        var verb = await CheckAsync();

        Assert.Equal((0, ""), (verb.ExitCode, verb.Error));
        Assert.Equal(12, verb.ReadJson().GetArrayLength());
        Assert.All(verb.ReadJson().EnumerateArray(), row => Assert.Equal("right", row.Text("result")));
    }

    [Theory]
    [InlineData("garbage", true, "a charge gets 200 and a message")]
    [InlineData("tooMany", true, "the same id again gets 422")]
    [InlineData("status", 404, "twelve digits of an amount are kept")]
    [InlineData("afterInsert", "errorBody", "of five charges with one id at once one is stored")]
    [InlineData("afterInsert", "reset", "a charge gets 200 and a message")]
    [InlineData("beforeInsert", "reset", "a look-up gets id, amount and requestedAt as sent")]
    [InlineData("lookUp", "garbage", "a look-up gets id, amount and requestedAt as sent")]
    [InlineData("lookUp", "tooMany", "a look-up of an unknown id gets 404")]
    [InlineData("lookUp", "errorBody", "what it refused is not stored")]
    [InlineData("health", "garbage", "health gets failing and minResponseTime")]
    [InlineData("health", "tooMany", "health gets failing and minResponseTime")]
    public async Task Each_fault_breaks_its_rule(string fault, object value, string rule)
    {
        await Simulator.SetFaultsAsync(new Dictionary<string, object> { [fault] = value });

        var verb = await CheckAsync();

        Assert.Equal(65, verb.ExitCode);
        var broken = verb.ReadJson().EnumerateArray().Where(row => row.Text("result") != "right").ToList();
        Assert.Contains(rule, broken.Select(row => row.Text("rule")));
        Assert.Equal($"{broken.Count} rules are broken", verb.Error);
    }

    [Fact]
    public async Task A_wrong_token_breaks_the_rules_of_the_administrator_alone() => Assert.Equal(
        ["sums include both bounds"], (await CheckAsync("wrong")).ReadJson().EnumerateArray()
            .Where(row => row.Text("result") != "right").Select(row => row.Text("rule")));

    [Fact]
    public async Task A_simulator_that_is_not_there_breaks_every_rule()
    {
        await Simulator.DisposeAsync();

        var verb = await CheckAsync();

        Assert.Equal(65, verb.ExitCode);
        Assert.All(verb.ReadJson().EnumerateArray(), row => Assert.StartsWith(
            "no answer: ", row.Text("result"), StringComparison.Ordinal));
    }

    // A process of its own, because a process has one time zone and one set of variables.
    [Fact]
    public async Task A_time_without_a_zone_is_UTC_and_the_token_may_come_from_a_variable()
    {
        await using var peer = await PeerAsync(static body => body.Replace("Z\"}", "\"}", StringComparison.Ordinal));

        var run = await ProgramRun.RunAsync(
            ["dotnet", typeof(CommandLine).Assembly.Location, "conformance", "--url", $"{peer.Url}", "--json"], null,
            ("DOTNET_ROLL_FORWARD", "Major"), ("TZ", "America/Sao_Paulo"),
            ("PAYMENT_GATEWAY_PROCESSOR_TOKEN", SimulatedProcessor.InitialToken));

        Assert.True(run.ExitCode == 0, $"{run}");
        using var rules = JsonDocument.Parse(run.Output);
        Assert.Equal(12, rules.RootElement.GetArrayLength());
        Assert.All(peer.Calls, call => Assert.Contains(" PaymentGateway/", call, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("\"amount\":19.90", "\"amount\":19.900000000000002")]
    [InlineData("\"amount\":19.90", "\"amount\":\"19.90\"")]
    [InlineData("correlationId", "CorrelationID")]
    [InlineData("T", " ")]
    [InlineData("{", "\uFEFF{")]
    public async Task A_look_up_in_a_form_that_the_gateway_takes_breaks_no_rule(string part, string form)
    {
        await using var peer = await PeerAsync(body => body.Replace(part, form, StringComparison.Ordinal));

        Assert.Equal((0, ""), await CheckAsync(peer));
    }

    [Theory]
    [InlineData("{", "[{")]
    [InlineData("\"amount\":1", "\"amount\":-1")]
    [InlineData("\"requestedAt\":\"20", "\"requestedAt\":\"10")]
    [InlineData("{", "5 KB")]
    public async Task A_look_up_that_the_gateway_cannot_read_is_named(string part, string form)
    {
        await using var peer = await PeerAsync(body => form == "5 KB"
            ? body + new string(' ', 5_000)
            : body.Replace(part, form, StringComparison.Ordinal));

        Assert.Equal((65, "2 rules are broken"), await CheckAsync(peer));
    }

    [Theory]
    [InlineData("\"amount\":1", "\"amount\":\"none\u001b[2J\",\"was\":1")]
    [InlineData("{", "\u001b]0;title\u0007\u202e{")]
    public async Task Text_of_the_processor_moves_no_terminal(string part, string instead)
    {
        await using var peer = await PeerAsync(body => body.Replace(part, instead, StringComparison.Ordinal));

        var verb = await Verb.RunAsync("conformance", "--url", $"{peer.Url}");

        Assert.Equal(65, verb.ExitCode);
        Assert.Contains("it gets ", verb.Output, StringComparison.Ordinal);
        Assert.DoesNotContain(verb.Output, one => one is '\u001b' or '\u0007' or '\u202e');
        Assert.All(verb.Output.Split('\n'), line => Assert.InRange(line.Length, 0, 400));
    }

    // Interrupted while a switch is on, or at a processor that answers no more calls of a switch's rule.
    [Theory]
    [InlineData("failure")]
    [InlineData("delay")]
    public async Task The_switches_are_off_when_it_is_interrupted(string name)
    {
        using var interrupted = new CancellationTokenSource();
        var switched = new ConcurrentQueue<string>();
        await using var peer = await PeerAsync(static body => body, async (context, body) =>
        {
            var path = $"{context.Request.Path}";
            if (path.Contains("/configurations/", StringComparison.Ordinal))
                switched.Enqueue(body);
            else if (switched.LastOrDefault()?.Contains(name, StringComparison.Ordinal) == true
                && context.Request.Method == "POST" && !interrupted.IsCancellationRequested)
                await interrupted.CancelAsync();
        });
        using var http = GatewayClient.Open($"{peer.Url}", token: null, TimeSpan.FromSeconds(20));

        var report = await new Conformance(
            http, SimulatedProcessor.InitialToken, interrupted.Token).CheckAsync();

        Assert.Equal((69, "interrupted"), (report.ExitCode, report.Note));
        Assert.Contains("{\"failure\":true}", switched);
        Assert.Equal("{\"failure\":false}", switched.Last(one => one.Contains("failure", StringComparison.Ordinal)));
        Assert.Equal("{\"delay\":0}", switched.Last(one => one.Contains("delay", StringComparison.Ordinal)));
        using var charged = await http.PostAsJsonAsync(
            "payments", new { correlationId = Guid.NewGuid(), amount = 1, requestedAt = DateTime.UtcNow });
        Assert.Equal(HttpStatusCode.OK, charged.StatusCode);
    }

    [Fact]
    public async Task A_signal_ends_it_in_one_line_after_the_switches_are_off()
    {
        var held = new TaskCompletionSource();
        await using var peer = await PeerAsync(static body => body, async (context, body) =>
        {
            if (body == "{\"failure\":true}")
                held.TrySetResult();
            else if (held.Task.IsCompleted && context.Request.Method == "POST")
                await Task.Delay(TimeSpan.FromSeconds(30), context.RequestAborted);
        });
        using var verb = Process.Start(new ProcessStartInfo("dotnet",
        [
            typeof(CommandLine).Assembly.Location, "conformance", "--url", $"{peer.Url}", "--token",
            SimulatedProcessor.InitialToken,
        ])
        { RedirectStandardError = true, Environment = { ["DOTNET_ROLL_FORWARD"] = "Major" } })!;
        await held.Task.WaitAsync(TimeSpan.FromSeconds(20));

        using var signal = Process.Start("kill", ["-TERM", $"{verb.Id}"]);
        await verb.WaitForExitAsync().WaitAsync(TimeSpan.FromSeconds(20));

        Assert.Equal((69, "interrupted"), (verb.ExitCode, (await verb.StandardError.ReadToEndAsync()).TrimEnd()));
        using var charged = await Simulator.Client.PostAsJsonAsync(
            "payments", new { correlationId = Guid.NewGuid(), amount = 1, requestedAt = DateTime.UtcNow });
        Assert.Equal(HttpStatusCode.OK, charged.StatusCode);
    }

    [Fact]
    public async Task A_switch_that_stays_on_is_told()
    {
        await using var peer = await PeerAsync(static body => body, (context, body) =>
            body == "{\"failure\":false}" ? throw new InvalidOperationException("It broke.") : Task.CompletedTask);

        var verb = await Verb.RunAsync(
            "conformance", "--url", $"{peer.Url}", "--token", SimulatedProcessor.InitialToken, "--json");

        Assert.Equal(65, verb.ExitCode);
        Assert.Contains(verb.ReadJson().EnumerateArray(), row => row.Text("rule") == "its failure switch is off again"
            && row.Text("result") == "it gets 500");
    }

    [Theory]
    [InlineData("http://host/pay?tenant=1")]
    [InlineData("http://host/#x")]
    [InlineData("http://user:secret@host/")]
    public async Task A_url_of_which_a_part_would_not_be_sent_is_refused(string url)
    {
        var verb = await Verb.RunAsync("conformance", "--url", url);

        verb.AssertFailed(64, "--url");
        Assert.DoesNotContain("secret", verb.Error, StringComparison.Ordinal);
    }

    private static async Task<(int, string)> CheckAsync(ScriptedPeer peer)
    {
        var verb = await Verb.RunAsync("conformance", "--url", $"{peer.Url}");
        return (verb.ExitCode, verb.Error);
    }

    // Passes calls on to the simulator, and changes the answers to look-ups.
    private Task<ScriptedPeer> PeerAsync(Func<string, string> change, Func<HttpContext, string, Task>? before = null) =>
        ScriptedPeer.StartAsync(async context =>
        {
            using var reader = new StreamReader(context.Request.Body);
            var body = await reader.ReadToEndAsync();
            await (before?.Invoke(context, body) ?? Task.CompletedTask);
            using var request = new HttpRequestMessage(
                new HttpMethod(context.Request.Method), $"{context.Request.Path}{context.Request.QueryString}");
            if (body.Length > 0)
                request.Content = new StringContent(body, new MediaTypeHeaderValue("application/json"));
            request.Headers.TryAddWithoutValidation("X-Rinha-Token", $"{context.Request.Headers["X-Rinha-Token"]}");
            using var answer = await Simulator.Client.SendAsync(request);
            var text = await answer.Content.ReadAsStringAsync();
            context.Response.StatusCode = (int)answer.StatusCode;
            if (text.Length > 0)
                await context.Response.WriteAsync(
                    context.Request.Method == "GET" && text.Contains("correlationId") ? change(text) : text);
        });

    private Task<Verb> CheckAsync(string token = SimulatedProcessor.InitialToken) => Verb.RunAsync(
        "conformance", "--url", Simulator.BaseAddress.AbsoluteUri, "--token", token, "--json");
}
