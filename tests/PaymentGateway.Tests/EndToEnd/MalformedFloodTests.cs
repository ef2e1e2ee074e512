using System.Net.Http.Headers;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Twenty thousand requests that are wrong in every way, with good ones among them.</summary>
[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class MalformedFloodTests(ITestOutputHelper output)
    : OwnSystem(("DOTNET_GCgen0size", YoungHeapBytes))
{
    private const int Malformed = 20_000;

    // The first of them are the warm-up: buffers, pools and the heap on their way to their size are no leak.
    private const int Step = 5_000;

    // As .NET comes, the heap may grow by tens of MiB before the collector looks at it, and that would hide a leak.
    private const string YoungHeapBytes = "0x200000";

    private const int GoodEvery = 20;
    private const int Clients = 24;

    private static readonly string Filling = new('x', 3_000);

    private readonly List<string> _wrong = [];
    private long _bodyBytes;

    [GatewaySystemFact]
    public async Task Twenty_thousand_malformed_requests_leave_the_memory_flat_and_the_ledger_correct()
    {
        var memory = new List<long>();
        var leakable = 0L;
        for (var from = 0; from < Malformed; from += Step)
        {
            _bodyBytes = 0;
            await FloodAsync(from, from + Step);
            await LedgerCheck.AgreesAsync(System, Ledger);
            memory.Add(Memory());
            leakable += from == 0 ? 0 : _bodyBytes;
        }

        output.WriteLine($"{Malformed} malformed, {Ledger.Acknowledged} good; memory of both instances after each "
            + $"{Step}: {string.Join(", ", memory.Select(Mib))}; {Mib(leakable)} of bodies after the first");
        Assert.True(_wrong.Count == 0, $"{_wrong.Count} were not refused:\n{string.Join('\n', _wrong.Take(5))}");
        Ledger.NoClientSawAnError();
        Assert.Equal(Malformed / GoodEvery, await System.Database.CountAsync("payments"));
        // One body kept for each would be all of the bodies. A third is left to a heap that grows in regions of 4 MiB,
        // in two processes: a step or two is no slope.
        Assert.True(memory[^1] - memory[0] < leakable / 3, $"grew by {Mib(memory[^1] - memory[0])}");
        var limits = ComposeProject.Challenge.Services
            .Where(service => service.Name is GatewaySystem.First or GatewaySystem.Second)
            .Sum(service => service.MemoryMegabytes * 1024L * 1024);
        Assert.All(memory, bytes => Assert.InRange(bytes, 1, limits));
    }

    private Task FloodAsync(int from, int to)
    {
        var next = from - 1;
        return Task.WhenAll(Enumerable.Range(0, Clients).Select(async _ =>
        {
            while (Interlocked.Increment(ref next) is var number && number < to)
            {
                await BeWrongAsync(number);
                if (number % GoodEvery == 0)
                    await LoadDriver.PostAsync(System.Client, Ledger);
            }
        }));
    }

    private async Task BeWrongAsync(int number)
    {
        using var request = Write(number);
        if (request is null)
        {
            using var raw = await RawConnection.ToNginxAsync(System);
            await raw.SendAsync("POST /payments HTTP/1.1\r\nContent-Length: many\r\n\r\n");
            Judge(number, (await raw.ReadToEndAsync(TimeSpan.FromSeconds(10))).Statuses.SingleOrDefault());
            return;
        }

        Interlocked.Add(ref _bodyBytes, request.Content?.Headers.ContentLength ?? 0);
        using var answer = await System.Client.SendAsync(request);
        Judge(number, (int)answer.StatusCode);
    }

    private void Judge(int number, int status)
    {
        if (status is >= 400 and < 500)
            return;
        lock (_wrong)
            _wrong.Add($"{number % Shapes}: {status}");
    }

    private const int Shapes = 20;

    // Most of them are large and reach an instance, which has to read them to find what is wrong.
    private static HttpRequestMessage? Write(int number)
    {
        var id = Guid.NewGuid();
        var note = $"\"note\":\"{Filling}\"";
        return (number % Shapes) switch
        {
            0 => Post($$"""{"correlationId":"{{id}}",{{note}},"amount":19,90}"""),
            1 => Post($$"""{"correlationId":"{{id}}",{{note}},"amount":19.90"""),
            2 => Post($$"""{{{note}},"amount":19.90}"""),
            3 => Post($$"""{"correlationId":"{{id}}",{{note}},"amount":"19.90"}"""),
            4 => Post($$"""{"correlationId":{{number}},{{note}},"amount":19.90}"""),
            5 => Post($$"""{"correlationId":"{{id}}",{{note}},"amount":1e400}"""),
            6 => Post($$"""{"correlationId":"{{id}}","amount":{{new string('9', 3_000)}}}"""),
            7 => Post($$"""{"correlationId":"{{id}}",{{note}},"amount":-0.01}"""),
            8 => Post($$"""{"correlationId":"{{id}}",{{note}},"amount":0.00{{number}}}"""),
            9 => Post(new string('[', 3_000)),
            10 => Post($$"""[{"correlationId":"{{id}}",{{note}},"amount":19.90}]"""),
            11 => Post($$"""{"correlationId":"{{id}}",{{note}},"amount":19.90}""", "text/plain"),
            12 => Post($$"""{"correlationId":"{{id}}",{{note}},"amount":19.90}""", "application/xml"),
            13 => Post($$"""{"correlationId":"{{id}}",{{note}},{{note}},"amount":19.90}"""), // 6 KB
            14 => Post($$"""{"correlationId":"{{id}}",{{note}},"amount":19.90}""", path: $"payments/{number}"),
            15 => Post($$"""{"correlationId":"{{id}}",{{note}},"amount":19.90}""", path: "payments-summary"),
            16 => new HttpRequestMessage(HttpMethod.Delete, $"payments?{number}"),
            17 => new HttpRequestMessage(HttpMethod.Get, $"payments-summary?from={number}&to=tomorrow"),
            18 => new HttpRequestMessage(HttpMethod.Get, $"nothing/{id}/{Filling[..500]}"),
            _ => null, // What no HTTP client would send.
        };
    }

    private static HttpRequestMessage Post(string body, string type = "application/json", string path = "payments")
    {
        var content = new ByteArrayContent(Encoding.UTF8.GetBytes(body));
        content.Headers.ContentType = new MediaTypeHeaderValue(type);
        return new HttpRequestMessage(HttpMethod.Post, path) { Content = content };
    }

    private long Memory() =>
        ProcessMemory.PssBytes(System.PidOf(GatewaySystem.First))
        + ProcessMemory.PssBytes(System.PidOf(GatewaySystem.Second));

    private static string Mib(long bytes) => $"{bytes / 1024.0 / 1024.0:0.0} MiB";
}
