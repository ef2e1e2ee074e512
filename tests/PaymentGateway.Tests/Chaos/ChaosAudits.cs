using System.Data.Common;

namespace PaymentGateway.Tests.Chaos;

/// <summary>
/// The auditor who comes while everything breaks: closed windows must agree to the cent at once, and no window may ever
/// hold more than the processors. An answer that is refused or late is none, as instances and database are being
/// broken.
/// </summary>
public sealed class ChaosAudits(GatewaySystem system, int seed)
{
    private const int AfterwardsMax = 50;

    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(2);

    private readonly Random _random = new(seed);
    private readonly ChaosDatabase _database = new(system);
    private readonly List<string> _problems = [];
    private DateTimeOffset _began;

    public int Rounds { get; private set; }

    /// <summary>Answers about closed windows that were compared with both processors.</summary>
    public int Judged { get; private set; }

    public long Largest { get; private set; }

    /// <summary>What was wrong, and that too little was judged.</summary>
    public IEnumerable<string> Problems => Judged >= Rounds && Rounds > 0
        ? _problems
        : _problems.Append($"only {Judged} answers about closed windows in {Rounds} rounds of audits");

    public async Task RunWhileAsync(Task end)
    {
        _began = Cut(DateTimeOffset.UtcNow);
        while (!end.IsCompleted)
        {
            await Task.WhenAny(end, Task.Delay(Interval));
            Rounds++;
            if (await FindClosedAsync() is { } closed && closed > _began)
                await JudgeClosedAsync(Between(_began, closed), Cut(closed));
            await JudgeAnyWindowAsync();
        }
    }

    /// <summary>When everything is settled, any window is a closed one, at each instance.</summary>
    public async Task AfterDrainAsync()
    {
        var end = DateTimeOffset.UtcNow;
        for (var i = 0; i < AfterwardsMax; i++)
        {
            var from = Between(_began, end);
            await JudgeClosedAsync(from, Between(from, end));
        }
    }

    private async Task JudgeClosedAsync(DateTimeOffset from, DateTimeOffset to)
    {
        var answers = await AskGatewayAsync(from, to);
        var processors = await GatewaySummary.OfProcessorsAsync(system.Default, system.Fallback, from, to);
        Judged += answers.Count;
        Largest = Math.Max(Largest, processors.Default.TotalRequests + processors.Fallback.TotalRequests);
        _problems.AddRange(answers
            .Select(one => new ChaosAudit(one.Asked, from, to, one.Summary, processors).DifferenceIfClosed())
            .OfType<string>());
    }

    private async Task JudgeAnyWindowAsync()
    {
        var end = DateTimeOffset.UtcNow.AddHours(1);
        var answers = await AskGatewayAsync(_began, end);
        var processors = await GatewaySummary.OfProcessorsAsync(system.Default, system.Fallback, _began, end);
        _problems.AddRange(answers
            .Select(one => new ChaosAudit(one.Asked, _began, end, one.Summary, processors).ExcessInAnyWindow())
            .OfType<string>());
    }

    private async Task<DateTimeOffset?> FindClosedAsync()
    {
        var askedAt = DateTimeOffset.UtcNow;
        try
        {
            return ChaosAudit.ClosedBefore(askedAt, await _database.OldestUnsettledAsync());
        }
        catch (Exception unavailable) when (unavailable is DbException or TimeoutException)
        {
            return null;
        }
    }

    private async Task<List<(string Asked, GatewaySummary Summary)>> AskGatewayAsync(
        DateTimeOffset from, DateTimeOffset to)
    {
        var answers = await Task.WhenAll(
            AskAsync("nginx", system.Client, from, to), AskAsync(GatewaySystem.First, system.Api1, from, to),
            AskAsync(GatewaySystem.Second, system.Api2, from, to));
        return [.. answers.Where(one => one.Summary is not null).Select(one => (one.Asked, one.Summary!))];
    }

    private static async Task<(string Asked, GatewaySummary? Summary)> AskAsync(
        string asked, HttpClient http, DateTimeOffset from, DateTimeOffset to) =>
        (asked, await ChaosAudit.AskAsync(http, from, to));

    // Bounds between two microseconds are cut here and there in another way.
    private static DateTimeOffset Cut(DateTimeOffset time) =>
        time.AddTicks(-(time.Ticks % TimeSpan.TicksPerMicrosecond));

    private DateTimeOffset Between(DateTimeOffset least, DateTimeOffset most) =>
        least.AddMicroseconds(Math.Floor((most - least).TotalMicroseconds * _random.NextDouble()));
}
