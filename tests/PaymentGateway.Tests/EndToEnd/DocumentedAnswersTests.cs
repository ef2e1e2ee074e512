using System.Net.Http.Headers;
using PaymentGateway.Operator.Admin;
using PaymentGateway.Tests.Hosting;
using PaymentGateway.Tests.Operator.Reconciliation;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Every answer of openapi.json is made to occur, and is as documented.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class DocumentedAnswersTests : IAsyncLifetime, IDisposable
{
    private const string Token = "a tökèn";
    private const string Reader = "a token that reads";
    private const string Shop = "a token that pays";

    // 500 is a bug, made to occur at one call, and 408 takes as long as a slow client does (SlowClientTests).
    private static readonly int[] NotMade = [408, 500];

    // Problems that need another gateway or client, and the tests that hold them against openapi.json.
    private static readonly Dictionary<string, string> SeenElsewhere = new()
    {
        ["bad-request"] = nameof(SlowClientTests.Kestrel_itself_closes_connections_with_slow_bodies),
        ["draining"] = nameof(
            HealthEndpointsTests.From_the_signal_on_a_stopping_instance_is_not_ready_although_it_holds_the_lease),
        ["reconciliation-off"] = nameof(
            ReconciliationEndpointTests
                .No_call_of_an_administrator_is_made_without_the_tokens_nor_before_an_operator_asks),
    };

    // A window that closed long ago.
    private const string Closed = "?from=2025-07-15&to=2025-07-16";

    private static readonly OpenApiDocument Document = OpenApiDocument.Present;

    private readonly string _port = $"{GatewaySystemSettings.TwoFreePorts()}";
    private readonly HashSet<(string Id, int Status)> _seen = [];
    private readonly HashSet<string> _types = [];
    private readonly List<string> _faults = [];

    private GatewaySystem _system = null!;
    private HttpClient _client = null!;
    private HttpClient _admin = null!;

    public async Task InitializeAsync()
    {
        _system = await GatewaySystem.UpAsync(
            ("TOKEN", Token), ("ADMIN_PORT", _port), ("Gateway__Admin__Purge", "Operator"),
            ("Gateway__Admin__Tokens__reader__Token", Reader),
            ("Gateway__Admin__Tokens__shop__Token", Shop), ("Gateway__Admin__Tokens__shop__Role", "Pay"),
            ("Gateway__Webhooks__shop__Url", "https://127.0.0.1:1/"),
            ("Gateway__Webhooks__shop__Secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
            ("Gateway__Settling__CallTimeout", "1s"),
            ("Gateway__Settling__InDoubtHorizon", "3s"),
            ("Gateway__Processors__Default__AdminToken", SimulatedProcessor.InitialToken),
            ("Gateway__Processors__Fallback__AdminToken", SimulatedProcessor.InitialToken));
        (_client, _admin) = (
            UnixHttp.Raw(_system.Address, Encoding.UTF8),
            UnixHttp.Raw(new Uri($"http://127.0.0.1:{_port}"), Encoding.UTF8));
    }

    public async Task DisposeAsync() => await _system.DisposeAsync();

    public void Dispose()
    {
        _client?.Dispose();
        _admin?.Dispose();
    }

    [GatewaySystemFact]
    public async Task Every_documented_answer_occurs_and_is_as_documented()
    {
        await SendExamplesAsync();
        await BeRefusedByContentAsync();
        await BeRefusedByFormAsync();
        await FailAsync();
        await ReconcileAsync();
        await WaitForDatabaseAsync();
        await GuessAsync();
        await _system.StopAsync(GatewaySystem.First, GatewaySystem.Second);
        await EachAsync(operation => SeeAsync(_client, New(operation), 503));

        Assert.True(_faults.Count == 0, string.Join('\n', _faults));
        var lacking = Document.Operations.SelectMany(
                operation => operation.Responses.Keys, (operation, status) => (operation.Id, Status: status))
            .Where(answer => !NotMade.Contains(answer.Status) && !IsOfUnknownHost(answer.Id, answer.Status))
            .Except(_seen);
        Assert.Equal([], lacking);
        Assert.Equal(
            Document.ProblemTypes.Order(),
            SeenElsewhere.Keys.Select(name => "urn:problem:payment-gateway:" + name).Concat(_types).Order());
    }

    // A payment in doubt, and one that is refused for good, found, given back and settled: by the examples alone.
    private async Task SendExamplesAsync()
    {
        await _system.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        await PayExamplesAsync("in_doubt");
        await StateAsync("settled");
        await ParkExamplesAsync();
        await SeeAsync(_admin, New("listPayments", suffix: "?state=parked&limit=1"), 200);
        await SeeAsync(_admin, New("listPaymentsForPage", suffix: "?state=parked"), 200);
        await SeeAsync(_admin, New("replayParked"), 202);
        await SeeAsync(_admin, New("replayAllParked", takesQuery: _ => true), 202);
        await StateAsync("settled");

        // Each call with the examples of its parameters, and once more without those that may be absent.
        await EachAsync(async operation =>
        {
            var fits = operation.Responses.Keys.First(status => status < 400);
            if (operation.Id is "replayParked" or "pageReplaysParked")
                await ParkExamplesAsync();
            // A position of events is of one ledger, and the example's of another.
            var hasPosition = operation.Id == "listEvents";
            foreach (var body in operation.BodyExamples.Select(example => Json(example.Value)).DefaultIfEmpty(null))
                await SeeAsync(
                    ListenerOf(operation),
                    New(operation, body, takesQuery: name => !hasPosition || name != "after"), fits);
            if (operation.Id is not ("replayParked" or "pageReplaysParked"))
                await SeeAsync(
                    ListenerOf(operation), New(operation, Json(operation.BodyExamples.FirstOrDefault().Value)), fits);
        });
        await SeeAsync(_admin, New(Document["signIn"], Form("token=" + Uri.EscapeDataString(Token))), 303);
        await SeeAsync(_admin, New("showOps", token: false), 303);
        await SeeAsync(_client, New("isReady"), 200);
    }

    private async Task BeRefusedByContentAsync()
    {
        var id = Guid.NewGuid();
        var payment = Document["acceptPayment"];
        await PayAsync($$"""{"correlationId":"{{id}}","amount":1}""");
        await SeeAsync(_client, New(payment, Text($$"""{"correlationId":"{{id}}","amount":2}""")), 409);
        await SeeAsync(_client, New(payment, Text("{}")), 400);
        await SeeAsync(_admin, New("listPayments", suffix: "?limit=201"), 400);
        await SeeAsync(_client, New("summarise", suffix: "?from=yesterday"), 400);
        await SeeAsync(_admin, New(Document["signIn"], Form(new string('a', 5_000))), 413);
        // No call has this method.
        var other = await AskAsync(_client, new HttpRequestMessage(HttpMethod.Patch, "/payments"));
        _types.Add($"{other.Json()["type"]}");
        _faults.AddRange(Document.FaultsOf(Document.Schemas["MethodNotAllowed"]!, other.Json()));
        foreach (var list in new[]
        {
            "listPayments", "listPaymentsForPage", "replayAllParked", "pageReplaysAllParked", "listActions",
            "listEvents", "replayWebhook",
        })
            await SeeAsync(_admin, New(list, suffix: "?all=1"), 400);
        await SeeAsync(_admin, New("listEvents", suffix: $"?after=9-0-1-{Guid.NewGuid():N}"), 410);
        await SeeAsync(_client, New("getPayment", id: $"{Guid.NewGuid()}"), 404);
        foreach (var one in new[]
        {
            "replayParked", "pageReplaysParked", "replayWebhook", "testWebhook", "sayNotCharged",
        })
            await SeeAsync(_admin, New(one, id: $"{Guid.NewGuid()}"), 404);
        foreach (var operation in Document.Operations.Where(one => one.Path.Contains("{id}", StringComparison.Ordinal)))
            await SeeAsync(ListenerOf(operation), New(operation, id: "17"), 400);
    }

    // A settlement that no statement of ours writes: nobody has thought of a time that .NET has not.
    private async Task FailAsync()
    {
        var id = $"{Guid.NewGuid()}";
        await PayAsync($$"""{"correlationId":"{{id}}","amount":1}""");
        await StateAsync("settled", id);
        await _system.Database.ExecuteAsync(
            $"UPDATE settlements SET requested_at = '0044-03-15 BC' WHERE correlation_id = '{id}'");

        await SeeAsync(_client, New("getPayment", id: id), 500);
        using var failing = New("getPayment", id: id);
        using var failed = await _client.RefusesAsync(failing, 500);
    }

    // Every call refuses a request that is too long, without a token or of another type, or answers 304.
    private Task BeRefusedByFormAsync() => EachAsync(async operation =>
    {
        await SeeAsync(_client, New(operation, Text(new string(' ', 5_000))), 413);
        await SeeAsync(_client, New(operation, suffix: "?a=" + new string('a', 5_000)), 414);
        await SeeAsync(_client, WithHeaders(New(operation), Enumerable.Range(0, 101), "1"), 431);
        await SeeAsync(_client, WithHeaders(New(operation), [1], new string('a', 5_000)), 400);
        if (operation.NeedsToken)
        {
            await SeeAsync(ListenerOf(operation), New(operation, token: false), 401);
            using var bearer = New(operation, operation.Body is null ? null : Text("{}"), token: false);
            bearer.Headers.TryAddWithoutValidation("Authorization", $"Bearer {Token}");
            Assert.NotEqual(401, (await AskAsync(ListenerOf(operation), bearer)).Status);
            if (operation.Method != "GET")
                await SeeAsync(ListenerOf(operation), With(Reader, New(operation, token: false)), 403);
        }

        if (ListenerOf(operation) == _admin)
            await SeeAsync(_client, New(operation), 404);
        if (operation.Responses.ContainsKey(415))
            await SeeAsync(ListenerOf(operation), New(operation, new StringContent("{}")), 415);
        if (operation.Responses.ContainsKey(304))
        {
            var known = await AskAsync(ListenerOf(operation), New(operation));
            var again = New(operation);
            again.Headers.TryAddWithoutValidation("If-None-Match", known.Headers["ETag"]);
            await SeeAsync(ListenerOf(operation), again, 304);
        }

        if (operation.Responses.TryGetValue(403, out var refused) && !IsOfUnknownHost(operation.Id, 403)
            && refused.ToJsonString().Contains("/CrossSiteRequest\"", StringComparison.Ordinal))
        {
            var foreign = New(operation);
            foreign.Headers.Add("Origin", "http://elsewhere.example");
            await SeeAsync(_admin, foreign, 403);
        }
    });

    // Needs an operator's port without a token (AdminListenerTests). Only a POST is refused for its Origin, too.
    private static bool IsOfUnknownHost(string id, int status) =>
        status == 403 && (Document[id].Method != "POST" || id == "acceptPayment");

    // One reconciliation runs at a time, with tokens that the processors take.
    private async Task ReconcileAsync()
    {
        await SeeAsync(_admin, New("reconcile", suffix: "?all=1"), 400);
        await SeeAsync(_admin, New("reconcile", suffix: "?to=2100-01-01"), 400);
        await using (await _system.Database.LockAsync("SELECT pg_advisory_lock(72616967)"))
            await SeeAsync(_admin, New("reconcile"), 409);
        using var another = Text("""{"token":"another"}""");
        (await _system.Default.SendAdminAsync(HttpMethod.Put, "admin/configurations/token", another))
            .EnsureSuccessStatusCode();
        await SeeAsync(_admin, New("reconcile", suffix: Closed), 403);
        await _system.StopAsync(PartNames.Default);
        // Whether it stops before its first beat is chance; later, the report of a 200 says it.
        await Eventually.HoldsAsync(
            async () => await SeeAsync(_admin, New("reconcile", suffix: Closed), expected: null) == 503,
            "it is told by the status");
    }

    private async Task WaitForDatabaseAsync()
    {
        _system.Database.Freeze();
        await Task.WhenAll(Document.Operations
            .Where(operation => operation.Responses[503].ToJsonString()
                .Contains("/LedgerUnavailable\"", StringComparison.Ordinal) && operation.Id != "followOps")
            .Select(operation => Eventually.HoldsAsync(
                async () =>
                {
                    var body = operation.Body is null
                        ? null
                        : Text($$"""{"correlationId":"{{Guid.NewGuid()}}","amount":1}""");
                    return await SeeAsync(ListenerOf(operation), New(operation, body), expected: null) == 503;
                },
                $"{operation} answers 503")));
        // More than are asked for and may wait (QueryLimit), while nobody gets an answer.
        await Task.WhenAll(Enumerable.Range(0, 70).Select(_ => SeeAsync(_admin, New("listPayments"), 503)));
        _system.Database.Thaw();
        await Eventually.HoldsAsync(
            async () => (await AskAsync(_client, New("isReady"))).Status == 200, "it is ready again");
    }

    // Through nginx, at a port, and here as if nginx had sent it, the address is the same.
    private async Task GuessAsync()
    {
        foreach (var instance in new[] { _system.Api1, _system.Api2 })
            for (var at = 1; at <= WrongTokens.Max; at++)
            {
                using var guess = With($"guess {at}", New("getPayment", token: false));
                guess.Headers.Add("X-Real-IP", "127.0.0.1");
                using var answer = await instance.SendAsync(guess);
                Assert.Equal(at < WrongTokens.Max ? 401 : 429, (int)answer.StatusCode);
            }

        foreach (var operation in Document.Operations.Where(operation => operation.NeedsToken))
            await SeeAsync(ListenerOf(operation), With("guess", New(operation, token: false)), 429);
        // nginx replaces it.
        var disguised = With("guess", New("getPayment", token: false));
        disguised.Headers.Add("X-Real-IP", "203.0.113.7");
        await SeeAsync(_client, disguised, 429);
    }

    private async Task ParkExamplesAsync()
    {
        await AskAsync(_admin, New("purge"));
        await _system.Default.PurgeAsync();
        await _system.Default.SetFaultsAsync(new { status = 400 });
        await PayExamplesAsync("parked");
    }

    // Clears the faults that keep the payments in the state.
    private async Task PayExamplesAsync(string state)
    {
        foreach (var (_, value) in Document["acceptPayment"].BodyExamples)
            await PayAsync(value!.ToJsonString());
        await StateAsync(state);
        await _system.Default.ClearFaultsAsync();
    }

    // On a slow machine the answer is 503 at first, and the client asks again.
    private async Task PayAsync(string json)
    {
        var status = 503;
        await Eventually.HoldsAsync(
            async () => (status = await SeeAsync(
                _client, New(Document["acceptPayment"], Text(json)), expected: null)) != 503,
            "the payment is taken");
        Assert.Equal(202, status);
    }

    private Task StateAsync(string state, string? id = null) => Eventually.HoldsAsync(
        async () =>
        {
            var answer = await AskAsync(_client, New("getPayment", id: id));
            _faults.AddRange(Document["getPayment"].FaultsOf(answer).Select(fault => $"{answer}: {fault}"));
            return answer.Status == 200 && $"{answer.Json()["state"]}" == state;
        },
        $"the payment is {state}");

    private static async Task EachAsync(Func<DocumentedOperation, Task> see)
    {
        foreach (var operation in Document.Operations)
            await see(operation);
    }

    private HttpClient ListenerOf(DocumentedOperation operation) =>
        operation.Responses.TryGetValue(404, out var response)
        && response.ToJsonString().Contains("/NotFound\"", StringComparison.Ordinal) ? _admin : _client;

    private async Task<int> SeeAsync(HttpClient http, HttpRequestMessage request, int? expected)
    {
        using (request)
        {
            var operation = Document.Find(request.Method.Method, PathOf(request))!;
            var answer = await AskAsync(http, request);
            lock (_faults)
            {
                _seen.Add((operation.Id, answer.Status));
                if (answer.IsProblem)
                    _types.Add($"{answer.Json()["type"]}");
                if (expected is not null && answer.Status != expected)
                    _faults.Add($"{request.Method} {request.RequestUri}: {answer}, and {expected} was expected");
                _faults.AddRange(operation.FaultsOf(answer).Select(fault => $"{operation}: {answer}: {fault}"));
            }

            return answer.Status;
        }
    }

    private static Task<ReadAnswer> AskAsync(HttpClient http, HttpRequestMessage request) =>
        ReadAnswer.OfAsync(http, request);

    private static string PathOf(HttpRequestMessage request) =>
        request.RequestUri!.IsAbsoluteUri
            ? request.RequestUri.AbsolutePath
            : request.RequestUri.OriginalString.Split('?')[0];

    private static HttpRequestMessage New(
        string operation, bool token = true, string suffix = "", string? id = null,
        Func<string, bool>? takesQuery = null) =>
        New(Document[operation], null, token, suffix, id, takesQuery);

    private static HttpRequestMessage New(
        DocumentedOperation operation, HttpContent? body = null, bool token = true, string suffix = "",
        string? id = null, Func<string, bool>? takesQuery = null)
    {
        var path = id is null
            ? operation.ExamplePath(takesQuery ?? (_ => false))
            : operation.Path.Replace("{id}", id, StringComparison.Ordinal)
                .Replace("{name}", id, StringComparison.Ordinal);
        var request = new HttpRequestMessage(new HttpMethod(operation.Method), path + suffix) { Content = body };
        if (token)
            request.Headers.TryAddWithoutValidation("X-Rinha-Token", operation.Id == "acceptPayment" ? Shop : Token);
        return request;
    }

    private static HttpRequestMessage With(string token, HttpRequestMessage request)
    {
        request.Headers.Add("X-Rinha-Token", token);
        return request;
    }

    private static HttpRequestMessage WithHeaders(HttpRequestMessage request, IEnumerable<int> numbers, string value)
    {
        foreach (var number in numbers)
            request.Headers.Add($"X-{number}", value);
        return request;
    }

    private static StringContent? Json(JsonNode? value) => value is null ? null : Text(value.ToJsonString());

    private static StringContent Text(string json) => new(json, new MediaTypeHeaderValue("application/json"));

    private static StringContent Form(string text) =>
        new(text, new MediaTypeHeaderValue("application/x-www-form-urlencoded"));
}
