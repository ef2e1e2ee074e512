namespace PaymentGateway.Tests.Chaos;

/// <summary>
/// The auditor: closed windows agree to the cent, and no answer ever has more than the processors, or fewer payments
/// than the ledger had before it was asked.
/// </summary>
public sealed class ChaosAudits(GatewaySystem system, int seed)
{
    private const int AfterwardsMax = 50;

    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(2);

    // The order of the ledger's two clocks within one machine: a row is seen, and charged, well after its acceptance.
    private static readonly TimeSpan Margin = TimeSpan.FromMilliseconds(50);

    private readonly Random _random = new(seed);
    private readonly ChaosDatabase _database = new(system);
    private readonly List<string> _problems = [];
    private DateTimeOffset _began;

    public int Rounds { get; private set; }

    /// <summary>Answers about closed windows that were compared with the processors.</summary>
    public int Judged { get; private set; }

    public long Largest { get; private set; }

    public IEnumerable<string> Problems => Judged >= Rounds && Rounds > 0
        ? _problems
        : _problems.Append($"only {Judged} answers about closed windows in {Rounds} rounds of audits");

    /// <summary>A summary as the official auditor asks for it; null where the answer is refused or late.</summary>
    public static async Task<GatewaySummary?> AskAsync(HttpClient http, DateTimeOffset from, DateTimeOffset to)
    {
        try
        {
            return await GatewaySummary.AskAsync(http, from, to).WaitAsync(TimeSpan.FromSeconds(1.5));
        }
        catch (Exception none) when (none is HttpRequestException or OperationCanceledException or TimeoutException
            or IOException)
        {
            return null;
        }
    }

    public async Task RunWhileAsync(Task end)
    {
        _began = Cut(DateTimeOffset.UtcNow);
        while (!end.IsCompleted)
        {
            await Task.WhenAny(end, Task.Delay(Interval));
            Rounds++;
            if (await FindClosedAsync() is { } closed && closed > _began)
                await JudgeAsync(Between(_began, closed), Cut(closed), isClosed: true);
            await JudgeAsync(_began, DateTimeOffset.UtcNow.AddHours(1), isClosed: false);
        }
    }

    /// <summary>When everything is settled, any window is a closed one, at each instance.</summary>
    public async Task AfterDrainAsync()
    {
        var end = DateTimeOffset.UtcNow;
        for (var i = 0; i < AfterwardsMax; i++)
        {
            var from = Between(_began, end);
            await JudgeAsync(from, Between(from, end), isClosed: true);
        }
    }

    // A closed window is the same to the cent, whatever is being broken meanwhile. Of any window the ledger never has
    // more than the processors, asked later: a settlement enters it only after the processor has stored the charge; and
    // what is in the ledger is in each answer from then on.
    private async Task JudgeAsync(DateTimeOffset from, DateTimeOffset to, bool isClosed)
    {
        (string Name, HttpClient Http)[] asked =
            [("nginx", system.Client), (GatewaySystem.First, system.Api1), (GatewaySystem.Second, system.Api2)];
        var before = await ChaosDatabase.TryAsync(() => _database.CountSettledAsync(from, to));
        var answers = await Task.WhenAll(asked.Select(one => AskAsync(one.Http, from, to)));
        var processors = await GatewaySummary.OfProcessorsAsync(system.Processors, from, to);
        foreach (var ((name, _), answer) in asked.Zip(answers))
        {
            if (answer is null)
                continue;

            if (isClosed)
                Judged++;
            if (answer.TotalRequests < before)
                _problems.Add($"audit {from:O} to {to:O}, {name}: {answer}, and its ledger had {before} before");
            if (isClosed ? answer != processors : !processors.Covers(answer))
                _problems.Add($"audit {from:O} to {to:O}, {name} "
                    + $"{(isClosed ? "differs" : "has more than the processors")}: {answer}, processors {processors}");
        }

        if (isClosed)
            Largest = Math.Max(Largest, processors.TotalRequests);
    }

    // The end of the windows in which no outcome can be outstanding, and never can be again: before the oldest payment
    // without a settlement was accepted. A payment is charged only after its row was seen, so what was not to be seen
    // yet gets a later requestedAt, even when its INSERT stalled for long.
    private Task<DateTimeOffset?> FindClosedAsync() => ChaosDatabase.TryAsync<DateTimeOffset?>(async () =>
    {
        var closed = DateTimeOffset.UtcNow - Margin;
        return await _database.OldestUnsettledAsync() is { } unsettled && unsettled < closed.UtcDateTime
            ? new DateTimeOffset(unsettled).AddMicroseconds(-1)
            : closed;
    });

    // Bounds between two microseconds are cut here and there in another way.
    private static DateTimeOffset Cut(DateTimeOffset time) =>
        time.AddTicks(-(time.Ticks % TimeSpan.TicksPerMicrosecond));

    private DateTimeOffset Between(DateTimeOffset least, DateTimeOffset most) =>
        least.AddMicroseconds(Math.Floor((most - least).TotalMicroseconds * _random.NextDouble()));
}
