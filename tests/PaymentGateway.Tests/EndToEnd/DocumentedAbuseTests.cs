namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Requests made of openapi.json, valid to garbage; OPENAPI_SEED and OPENAPI_REQUESTS choose others.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class DocumentedAbuseTests(ITestOutputHelper output) : IAsyncLifetime
{
    private const string Token = "secret";
    private const int Clients = 12;
    private const int Planted = 400;

    // Event ids of a request and of a reconciliation that failed after the answer had begun.
    private static readonly string[] Failures = ["[900]", "[602]"];

    // Requests of 100 that go through nginx; the others go to an instance itself.
    private const int ThroughNginx = 70;

    // So long a request is repeated that an instance cannot take now.
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private static readonly OpenApiDocument Document = OpenApiDocument.Present;

    // Asked for before any payment: later, money would be gone from the ledger.
    private static readonly DocumentedOperation Purge = Document["purge"];

    private static readonly List<DocumentedOperation> Others =
        Document.Operations.Where(operation => operation != Purge).ToList();

    private readonly int _seed = Number("OPENAPI_SEED", 25);
    private readonly int _requests = Number("OPENAPI_REQUESTS", 4_000);
    private readonly LoadLedger _ledger = new();
    private readonly Dictionary<string, string> _faults = [];
    private readonly SortedDictionary<int, int> _statuses = [];
    private readonly HashSet<bool> _reconciledWithRepair = [];

    private GatewaySystem _system = null!;
    private HttpClient[] _listeners = null!;

    public async Task InitializeAsync()
    {
        _system = await GatewaySystem.UpAsync(
            ("TOKEN", Token), ("Logging__LogLevel__Default", "Warning"),
            ("Gateway__Processors__Default__AdminToken", SimulatedProcessor.InitialToken),
            ("Gateway__Processors__Fallback__AdminToken", SimulatedProcessor.InitialToken),
            ("Gateway__Reconciling__MaxRate", "100000"));
        _listeners =
        [
            UnixHttp.Raw(_system.Address, Encoding.Latin1),
            .. new[] { GatewaySystem.First, GatewaySystem.Second }.Select(
                part => UnixHttp.To(_system.SocketOf(part), followsRedirects: false, Encoding.Latin1)),
        ];
        _listeners[0].Timeout = _system.Client.Timeout;
    }

    public async Task DisposeAsync()
    {
        foreach (var listener in _listeners ?? [])
            listener.Dispose();
        await _system.DisposeAsync();
    }

    [GatewaySystemFact]
    public async Task Whatever_is_sent_is_answered_as_documented_and_the_ledger_agrees_afterwards()
    {
        await AbuseAsync(_requests / 20, new Random(_seed), _ => Purge, Token);
        await PlantAsync();
        await AbuseAsync(_requests, new Random(_seed + 1), random => Of(random), Token);

        var seen = string.Join(", ", _statuses.Select(status => $"{status.Value} × {status.Key}"));
        var paid = _ledger.Acknowledged - Planted;
        output.WriteLine($"seed {_seed}: {seen}; {paid} payments");
        Assert.True(
            _faults.Count == 0,
            $"OPENAPI_SEED={_seed}: {_faults.Count} faults:\n{string.Join("\n\n", _faults.Values.Take(20))}");
        // Each kind of answer was seen, or nothing was tried.
        Assert.Superset(new HashSet<int> { 200, 202, 400, 401, 404, 405, 413, 415, 431 }, _statuses.Keys.ToHashSet());
        Assert.InRange(paid, _requests / 100, _requests);
        Assert.Equal([false, true], _reconciledWithRepair.Order());

        foreach (var instance in _system.RunningInstances())
            Assert.True(await Eventually.IsReadyAsync(instance));

        foreach (var part in new[] { GatewaySystem.First, GatewaySystem.Second })
            Assert.All(Failures, one => Assert.DoesNotContain(one, _system.ReadLog(part), StringComparison.Ordinal));
        await LedgerCheck.AgreesAsync(_system, _ledger);
    }

    // A client's requests follow from the seed alone, whatever the others do.
    private Task AbuseAsync(int requests, Random seeds, Func<Random, DocumentedOperation> choose, string token) =>
        Task.WhenAll(Enumerable.Range(0, Clients).Select(_ => seeds.Next()).ToList().Select(async seed =>
        {
            var random = new Random(seed);
            var made = new AbusiveRequests(random, token);
            for (var at = 0; at < requests / Clients; at++)
            {
                var operation = choose(random);
                var request = made.Next(operation);
                var listener = random.Next(100) < ThroughNginx ? 0 : random.Next(1, 3);
                await SendAsync(request, operation, listener);
            }
        }));

    // Two days old, so that every reconciliation without bounds has something to compare.
    private async Task PlantAsync()
    {
        var planted = new PlantedLedgers(DateTime.UtcNow.Date.AddDays(-2), TimeSpan.FromMilliseconds(11.001));
        planted.Agreeing(Planted);
        await planted.WriteAsync(_system.ConnectionString, _system.Default, _system.Fallback);
        planted.NoteIn(_ledger);
    }

    // No purge; a third of the requests are payments, and a tenth reconciliations.
    private static DocumentedOperation Of(Random random) => random.Next(30) switch
    {
        < 10 => Document["acceptPayment"],
        < 13 => Document["reconcile"],
        _ => Others[random.Next(Others.Count)],
    };

    // A server may close a connection that was idle just when the next request is written to it, and a client asks once
    // more then (RFC 9112, 9.3.1). Whatever is sent here may be repeated: a payment by its correlationId.
    private async Task<ReadAnswer> AskAgainAsync(AbusiveRequest request, int listener)
    {
        try
        {
            return await AskAsync(request, listener);
        }
        catch (HttpRequestException closed) when (closed.GetBaseException()
            is SocketException or HttpIOException { HttpRequestError: HttpRequestError.ResponseEnded })
        {
            return await AskAsync(request, listener);
        }
    }

    private async Task SendAsync(AbusiveRequest request, DocumentedOperation meant, int listener)
    {
        ReadAnswer answer;
        try
        {
            answer = await AskAgainAsync(request, listener);
            // A 503 says when to come back: it may last some moments, and is no fault of the request.
            var asked = Stopwatch.StartNew();
            while (IsForNow(meant, answer) && asked.Elapsed < Patience)
            {
                await Task.Delay(TimeSpan.FromSeconds(1));
                answer = await AskAgainAsync(request, listener);
            }
        }
        catch (Exception broken) when (broken is HttpRequestException or OperationCanceledException)
        {
            Note(request, meant, $"no answer: {broken.GetBaseException().Message}");
            return;
        }

        foreach (var fault in FaultsOf(request, meant, answer, listener))
            Note(request, meant, fault, answer);
        if (meant.Id == "acceptPayment" && answer.Status == 202)
            Remember(request);
        if (meant.Id == "reconcile" && answer.Status == 200)
            Judge(request, meant, answer);
    }

    // A reconciliation whose answer has begun says in it that the ledger or a processor is not there.
    private static bool IsForNow(DocumentedOperation meant, ReadAnswer answer) =>
        (answer.Status == 503 && meant.Id != "followOps")
        || (answer.Status == 200 && meant.Id == "reconcile" && OutcomeOf(answer) == "stopped");

    private static string OutcomeOf(ReadAnswer answer) => $"{answer.Json()["report"]!["outcome"]}";

    private async Task<ReadAnswer> AskAsync(AbusiveRequest request, int listener)
    {
        using var message = request.ToMessage(_listeners[listener].BaseAddress!);
        var answer = await ReadAnswer.OfAsync(_listeners[listener], message);
        lock (_statuses)
            _statuses[answer.Status] = _statuses.GetValueOrDefault(answer.Status) + 1;
        return answer;
    }

    private static IEnumerable<string> FaultsOf(
        AbusiveRequest request, DocumentedOperation meant, ReadAnswer answer, int listener)
    {
        // The instance notices a watcher who left a moment later, and refuses too many with 503.
        if (answer.Status >= 500 && meant.Id != "followOps")
            yield return "a fault of ours";
        // An instance itself has no more to say of what is no HTTP to it.
        if (listener > 0 && answer is { Status: 400, Body: "" })
            yield break;

        var asked = Document.Find(request.Method, request.Target.Split('?')[0]);
        var faults = asked is not null
            ? asked.FaultsOf(answer)
            : request.Method == "HEAD" || answer.Status == 431
                ? []
                : answer.Status is 400 or 404 or 405 or 413 or 414
                    ? Document.FaultsOf(Document.Schemas["Problem"]!, answer.Json())
                    : ["no documented call is there"];
        foreach (var fault in faults)
            yield return fault;
    }

    // Nothing differs here, whatever else is asked of the gateway meanwhile.
    private void Judge(AbusiveRequest request, DocumentedOperation meant, ReadAnswer answer)
    {
        var report = answer.Json()["report"]!;
        if (OutcomeOf(answer) != "agrees")
            Note(request, meant, "it does not agree", answer);
        else if (report["processors"]!["default"] is not null)
            lock (_statuses)
                _reconciledWithRepair.Add((bool)report["repair"]!);
    }

    private void Remember(AbusiveRequest request)
    {
        using var body = JsonDocument.Parse(request.Body!);
        _ledger.Note(new LoadEntry(
            body.RootElement.GetProperty("correlationId").GetGuid(),
            body.RootElement.GetProperty("amount").GetDecimal(),
            LoadOutcome.Acknowledged, 1, DateTimeOffset.UtcNow, TimeSpan.Zero, ""));
    }

    // One of each kind is enough to see it.
    private void Note(AbusiveRequest request, DocumentedOperation meant, string fault, ReadAnswer? answer = null)
    {
        lock (_faults)
            _faults.TryAdd($"{meant} {answer?.Status} {fault}", $"{fault}: {request}\n  {answer}");
    }

    private static int Number(string variable, int otherwise) =>
        int.TryParse(Environment.GetEnvironmentVariable(variable), CultureInfo.InvariantCulture, out var number)
            ? number
            : otherwise;
}
