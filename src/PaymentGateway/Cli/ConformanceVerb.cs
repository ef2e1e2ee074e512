using System.CommandLine;
using System.Net.Http.Headers;
using PaymentGateway.Charging;
using PaymentGateway.Hosting.Telemetry;

namespace PaymentGateway.Cli;

/// <summary>`conformance`: plays the contract against a processor or an adapter (docs/processor-api.yaml).</summary>
internal static class ConformanceVerb
{
    private const string TokenVariable = "PAYMENT_GATEWAY_PROCESSOR_TOKEN";

    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(20);

    private static readonly Option<string> Url = GatewayVerb.Text(
        "--url", "The processor's base URL. The check stores some payments there.", "url");

    private static readonly Option<string> Token = GatewayVerb.Text(
        "--token",
        $"Its administrator's token; default: {TokenVariable}. With it, sums and switches are checked too.",
        "token");

    public static Command Create()
    {
        Url.Required = true;
        var verb = new Command("conformance", "Check a processor against its contract; exit code 65 when it breaks it.")
        {
            Url, Token, Report.Json,
        };
        verb.SetAction(static async (ParseResult parsed, CancellationToken cancellation) =>
        {
            using var http = GatewayClient.Open(parsed.GetValue(Url)!, token: null, AnswerLimit);
            var token = parsed.GetValue(Token) ?? GatewayVerb.Variable(TokenVariable);
            return await (await new Conformance(http, token, cancellation).CheckAsync()).WriteAsync(parsed);
        });
        return verb;
    }
}

/// <summary>Checks the rules of docs/processor-api.yaml, one after another.</summary>
/// <param name="token">Null: the administrator's calls are not checked.</param>
/// <param name="cancellation">Ends the checks; the switches are off afterwards all the same.</param>
internal sealed class Conformance(HttpClient http, string? token, CancellationToken cancellation)
{
    private const string Right = "right";
    private const int ResultMax = 300;

    private static readonly TimeSpan Delay = TimeSpan.FromMilliseconds(400);

    private readonly ProcessorPayment _paid = New(19.90m);
    private readonly JsonArray _rows = [];

    /// <returns>A row for each rule, with what is wrong.</returns>
    public async Task<Report> CheckAsync()
    {
        try
        {
            await CheckCallsAsync();
            if (token is not null)
                await CheckAdministrationAsync();
        }
        catch (OperationCanceledException) when (cancellation.IsCancellationRequested)
        {
            return new Report(_rows, ExitCodes.Unavailable, "interrupted");
        }

        var wrong = _rows.Count(static row => (string?)row!["result"] != Right);
        return new Report(
            _rows, wrong == 0 ? ExitCodes.Ok : ExitCodes.Differs, wrong == 0 ? null : $"{wrong} rules are broken");
    }

    private async Task CheckCallsAsync()
    {
        await RuleAsync("a charge gets 200 and a message", () => ReadsAsync(
            ChargeAsync(_paid),
            static answer => answer.Read(ProcessorJsonContext.Default.ChargeAnswer)?.Message is not null));
        await RuleAsync("the same id again gets 422", () => IsAsync(ChargeAsync(_paid), 422));
        await RuleAsync("of five charges with one id at once one is stored", async () =>
        {
            var payment = New(5.00m);
            var answers = await Task.WhenAll(Enumerable.Range(0, 5).Select(_ => ChargeAsync(payment)));
            var statuses = string.Join(' ', answers.Select(static answer => $"{(int)answer.StatusCode}").Order());
            return statuses == "200 422 422 422 422" ? Right : $"they get {statuses}";
        });
        await RuleAsync("a look-up gets id, amount and requestedAt as sent", () => IsStoredAsync(_paid));
        await RuleAsync("twelve digits of an amount are kept", async () =>
        {
            var large = New(1_234_567_890.12m);
            await ChargeAsync(large);
            return await IsStoredAsync(large);
        });
        await RuleAsync("a look-up of an unknown id gets 404", () => IsAsync(LookUpAsync(Guid.NewGuid()), 404));
        await RuleAsync("a body that is no payment gets 400", () => IsAsync(
            SendAsync(HttpMethod.Post, "payments", "{\"correlationId\":\"none\"}"), 400));
        await RuleAsync("health gets failing and minResponseTime", () => ReadsAsync(
            SendAsync(HttpMethod.Get, "payments/service-health"),
            static answer => answer.Read(ProcessorJsonContext.Default.HealthAnswer) is { MinResponseTime: >= 0 }));
    }

    // An adapter may have no switches.
    private async Task CheckAdministrationAsync()
    {
        var bound = $"{_paid.RequestedAt:yyyy-MM-dd'T'HH:mm:ss.ffffff'Z'}";
        await RuleAsync("sums include both bounds", () => ReadsAsync(
            SendAsync(HttpMethod.Get, $"admin/payments-summary?from={bound}&to={bound}"),
            static answer => answer.Read(ProcessorJsonContext.Default.AdminSummary) is { TotalRequests: 1 } sum
                && Money.WithoutNoise(sum.TotalAmount) == 19.90m));
        var isOn = false;
        try
        {
            isOn = await SwitchAsync("failure", "true") == Right;
            if (isOn)
                await CheckSwitchesAsync();
        }
        finally
        {
            // Also without an answer, because the switch may be on; otherwise the processor would go on failing.
            foreach (var (name, off) in new[] { ("failure", "false"), ("delay", "0") })
                if (await SwitchAsync(name, off) is var result && result != Right && isOn)
                    Add($"its {name} switch is off again", result);
        }
    }

    private async Task CheckSwitchesAsync()
    {
        var (refused, left) = (New(1.00m), New(2.00m));
        await RuleAsync("while it fails a charge gets 500 without a body", async () =>
        {
            using var answer = await ChargeAsync(refused);
            return (await answer.Content.ReadAsByteArrayAsync()).Length > 0
                ? "it has a body" : await IsAsync(Task.FromResult(answer), 500);
        });
        await SwitchAsync("failure", "false");
        await RuleAsync("what it refused is not stored", () => IsAsync(LookUpAsync(refused.CorrelationId), 404));
        await SwitchAsync("delay", $"{Delay.TotalMilliseconds:0}");
        await RuleAsync("a charge is stored though its client hangs up", async () =>
        {
            using var hangUp = new CancellationTokenSource(Delay / 4, TimeProvider.System);
            await Task.WhenAny(ChargeAsync(left, hangUp.Token));
            await Task.Delay(Delay * 2, TimeProvider.System, cancellation);
            return await IsStoredAsync(left);
        });
    }

    private static ProcessorPayment New(decimal amount) =>
        new(Guid.NewGuid(), amount, TimeProvider.System.UtcMicroseconds());

    private async Task RuleAsync(string rule, Func<Task<string>> check)
    {
        var result = await TryAsync(check);
        cancellation.ThrowIfCancellationRequested();
        Add(rule, result);
    }

    // What the processor answers must not move the cursor of a terminal.
    private void Add(string rule, string result) => _rows.Add(
        (JsonNode)new JsonObject { ["rule"] = rule, ["result"] = LogFormatter.Visible(result, ResultMax) });

    private static async Task<string> TryAsync(Func<Task<string>> check)
    {
        try
        {
            return await check();
        }
        catch (Exception silent) when (silent is HttpRequestException or OperationCanceledException)
        {
            return $"no answer: {silent.Message}";
        }
    }

    private static async Task<string> IsAsync(Task<HttpResponseMessage> call, int status) =>
        (int)(await call).StatusCode is var answered && answered == status ? Right : $"it gets {answered}";

    // Reads an answer as the gateway does.
    private static async Task<string> ReadsAsync(
        Task<HttpResponseMessage> call, Func<ProcessorAnswer, bool> isRight)
    {
        using var answer = await call;
        var body = await answer.Content.ReadAsByteArrayAsync();
        return answer.StatusCode != HttpStatusCode.OK ? $"it gets {(int)answer.StatusCode}"
            : body.Length > ProcessorClient.AnswerBytesMax ? $"it gets {body.Length} bytes, which are too many"
            : isRight(new ProcessorAnswer(200, body, null)) ? Right : $"it gets {Encoding.UTF8.GetString(body)}";
    }

    private Task<string> IsStoredAsync(ProcessorPayment payment) =>
        ReadsAsync(LookUpAsync(payment.CorrelationId), answer => answer.ReadStored() == payment);

    private Task<HttpResponseMessage> ChargeAsync(ProcessorPayment payment, CancellationToken? hangUp = null) =>
        SendAsync(
            HttpMethod.Post, "payments",
            JsonSerializer.Serialize(payment, ProcessorJsonContext.Default.ProcessorPayment), hangUp);

    private Task<HttpResponseMessage> LookUpAsync(Guid id) => SendAsync(HttpMethod.Get, $"payments/{id}");

    // An interruption does not end it, because a switch must be known to be on or off.
    private Task<string> SwitchAsync(string name, string value) => TryAsync(() => IsAsync(
        SendAsync(
            HttpMethod.Put, $"admin/configurations/{name}", $"{{\"{name}\":{value}}}", CancellationToken.None), 200));

    private async Task<HttpResponseMessage> SendAsync(
        HttpMethod method, string path, string? body = null, CancellationToken? hangUp = null)
    {
        using var request = new HttpRequestMessage(method, path);
        if (token is not null && path.StartsWith("admin/", StringComparison.Ordinal))
            request.Headers.Add("X-Rinha-Token", token);
        if (body is not null)
            request.Content = new StringContent(body, new MediaTypeHeaderValue("application/json"));
        return await http.SendAsync(request, hangUp ?? cancellation);
    }
}
