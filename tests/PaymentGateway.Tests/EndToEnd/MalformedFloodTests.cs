namespace PaymentGateway.Tests.EndToEnd;

[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class MalformedFloodTests(
    MalformedFloodTests.SmallHeapSystem smallHeap, ITestOutputHelper output)
    : OnRunningSystem(smallHeap), IClassFixture<MalformedFloodTests.SmallHeapSystem>
{
    private const int Malformed = 20_000;

    private const int Step = 5_000;

    // The warm-up: buffers, pools and the heap on their way to their size are no leak.
    private const int WarmUp = 2;

    private const int GoodEvery = 20;
    private const int Clients = 24;

    private static readonly string Note = $"\"note\":\"{new string('x', 3_000)}\"";

    // Large, and each reaches an instance, which has to read it to find what is wrong.
    private static readonly string[] Bodies =
    [
        $$"""{"correlationId":"{id}",{{Note}},"amount":19,90}""",
        $$"""{"correlationId":"{id}",{{Note}},"amount":19.90""",
        $$"""{{{Note}},"amount":19.90}""",
        $$"""{"correlationId":"{id}",{{Note}},"amount":"19.90"}""",
        $$"""{"correlationId":17,{{Note}},"amount":19.90}""",
        $$"""{"correlationId":"{id}",{{Note}},"amount":1e400}""",
        $$"""{"correlationId":"{id}","amount":{{new string('9', 3_000)}}}""",
        $$"""{"correlationId":"{id}",{{Note}},"amount":-0.01}""",
        new string('[', 3_000),
        $$"""[{"correlationId":"{id}",{{Note}},"amount":19.90}]""",
    ];

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
            leakable += from < WarmUp * Step ? 0 : _bodyBytes;
        }

        output.WriteLine($"{Malformed} malformed, {Ledger.Acknowledged} good; memory of both instances after each "
            + $"{Step}: {string.Join(", ", memory.Select(Mib))}; {Mib(leakable)} of bodies after the warm-up");
        Assert.True(_wrong.Count == 0, $"{_wrong.Count} were not refused:\n{string.Join('\n', _wrong.Take(5))}");
        Ledger.NoClientSawAnError();
        // One body kept for each would be all of the bodies. A third is left to a heap that grows in regions of 4 MiB,
        // in two processes: a step or two is no slope.
        var growth = memory[^1] - memory[WarmUp - 1];
        Assert.True(growth < leakable / 3, $"grew by {Mib(growth)}");
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
        var text = Bodies[number % Bodies.Length].Replace("{id}", $"{Guid.NewGuid()}", StringComparison.Ordinal);
        using var body = LoadDriver.Body(text);
        Interlocked.Add(ref _bodyBytes, body.Headers.ContentLength!.Value);
        using var answer = await System.Client.PostAsync("payments", body);
        if (answer.StatusCode == HttpStatusCode.BadRequest)
            return;
        lock (_wrong)
            _wrong.Add($"{text[..80]}: {answer.StatusCode}");
    }

    private long Memory() =>
        ProcessMemory.PssBytes(System.PidOf(GatewaySystem.First))
        + ProcessMemory.PssBytes(System.PidOf(GatewaySystem.Second));

    private static string Mib(long bytes) => $"{bytes / 1024.0 / 1024.0:0.0} MiB";

    /// <summary>The default heap grows by tens of MiB before it is collected, which would hide a leak.</summary>
    public sealed class SmallHeapSystem : RunningSystem
    {
        protected override (string Name, string Value)[] Settings => [("DOTNET_GCgen0size", "0x200000")];
    }
}
