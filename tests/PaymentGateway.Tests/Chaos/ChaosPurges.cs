namespace PaymentGateway.Tests.Chaos;

/// <summary>Purges under load, at the end: a purge takes away the evidence of everything before it.</summary>
public sealed class ChaosPurges(GatewaySystem system, int seed)
{
    private const int WindowsMax = 20;

    private static readonly TimeSpan PurgeLimit = TimeSpan.FromSeconds(2);

    // Keeps charges in flight at each purge.
    private static readonly TimeSpan Delay = TimeSpan.FromMilliseconds(400);

    // Until outcomes of the old ledger have been answered, written and overtaken by newer ones.
    private static readonly TimeSpan Between = TimeSpan.FromSeconds(1.5);

    // Longer than a lease, so that it finds its payments adopted, or purged.
    private static readonly TimeSpan Pause = TimeSpan.FromSeconds(4);

    private readonly Random _random = new(seed);
    private readonly ChaosLoad _load = new(system, asksOnce: true);
    private readonly List<ChaosPurge> _purges = [];
    private readonly List<string> _problems = [];
    private ChaosPurgeCheck? _check;

    public IReadOnlyList<string> Problems => _problems;

    public override string ToString()
    {
        if (_check is null)
            return "broke off";
        var last = _purges[^1];
        return $"{_purges.Count} ({string.Join(", ", _purges.Select(purge => purge.During))}), the slowest "
            + $"{_purges.Max(purge => purge.Took).TotalSeconds:0.00} s; {_check.Entries.Count(last.Empties)} purged, "
            + $"{_check.Entries.Count(last.Precedes)} of the new ledger, {_check.Entries.Count(last.Overlaps)} either";
    }

    public async Task PlayAsync()
    {
        var rounds = new[] { InFlightAsync, InOutageAsync, KilledAsync, PausedAsync };
        _random.Shuffle(rounds);
        await system.Default.SetDelayAsync(Delay);
        var end = new TaskCompletionSource();
        var loading = _load.RunWhileAsync(end.Task);
        try
        {
            foreach (var playAsync in rounds)
            {
                await Task.Delay(Between);
                await playAsync();
                await Task.Delay(Between);
                _problems.AddRange(ChaosPurgeCheck.Resurrected(
                    _purges[^1], _load.Ledger.Entries, await system.Database.SettlementsAsync()));
            }
        }
        finally
        {
            end.SetResult();
            await loading;
        }

        await system.Default.SetDelayAsync(TimeSpan.Zero);
        await CompareAsync();
    }

    private Task InFlightAsync() => PurgeAsync("charges in flight", Any(), system.Api1, system.Api2);

    // Everything waits in the memory of both instances.
    private async Task InOutageAsync()
    {
        await system.Default.SetFailureAsync(true);
        await Task.Delay(Between);
        await PurgeAsync("outage", Any(), system.Api1, system.Api2);
        await system.Default.SetFailureAsync(false);
    }

    // The dead instance's payments are purged before an adoption, and after its last client has had an answer.
    private async Task KilledAsync()
    {
        var dead = Any() == system.Api1 ? GatewaySystem.First : GatewaySystem.Second;
        await system.KillAsync(dead);
        var killed = DateTimeOffset.UtcNow;
        await Eventually.HoldsAsync(
            () => !_load.Ledger.Entries.Any(entry => entry.Outcome == LoadOutcome.Pending && entry.SentAt < killed),
            "whoever asked before the kill has an answer");
        await PurgeAsync("instance killed", Other(dead), Other(dead));
        await system.StartAsync(dead);
    }

    // The instance goes on with old payments in memory and answers to old charges in its sockets.
    private async Task PausedAsync()
    {
        var paused = Any() == system.Api1 ? GatewaySystem.First : GatewaySystem.Second;
        var pid = system.PidOf(paused);
        Posix.Send(pid, Signal.Stop);
        try
        {
            await PurgeAsync("instance paused", Other(paused), Other(paused));
            await Task.Delay(Pause);
        }
        finally
        {
            Posix.Send(pid, Signal.Continue);
        }
    }

    // Newer payments have a later requestedAt: of everything before the call there is nothing, at once and everywhere.
    private async Task PurgeAsync(string during, HttpClient through, params HttpClient[] askedAtOnce)
    {
        var called = DateTimeOffset.UtcNow;
        var waited = Stopwatch.StartNew();
        using var answer = await through.PostAsync("purge-payments", null);
        var purge = new ChaosPurge(during, called, called + waited.Elapsed);
        _purges.Add(purge);
        if (!answer.IsSuccessStatusCode || purge.Took > PurgeLimit)
            _problems.Add($"purge ({during}): {(int)answer.StatusCode} after {purge.Took.TotalSeconds:0.0} s");

        var left = await Task.WhenAll(askedAtOnce.Select(http => GatewaySummary.AskAsync(http, to: called)));
        _problems.AddRange(left.Where(summary => summary.TotalRequests != 0)
            .Select(summary => $"purge ({during}): older payments are in the summary at once after it, {summary}"));
    }

    private async Task CompareAsync()
    {
        if ((await ChaosDrain.WaitAsync(system, system.IsIdleAsync)).Why is { } why)
            _problems.Add(
                $"{await system.Database.CountUnsettledAsync()} payments are unsettled after the purges: {why}");

        _check = new ChaosPurgeCheck(
            _purges, [.. _load.Ledger.Entries], await system.Database.SettlementsAsync(),
            await system.StoresAsync());
        _problems.AddRange(_check.Find());
        var (first, end) = (_purges[0].Called, DateTimeOffset.UtcNow);
        await CompareSummariesAsync(first.AddDays(-1), end);
        for (var i = 0; i < WindowsMax; i++)
        {
            var from = first + (end - first) * _random.NextDouble();
            await CompareSummariesAsync(from, from + (end - from) * _random.NextDouble());
        }
    }

    private async Task CompareSummariesAsync(DateTimeOffset from, DateTimeOffset to)
    {
        var expected = _check!.Expected(from, to);
        foreach (var instance in system.RunningInstances())
            if (await GatewaySummary.AskAsync(instance, from, to) is var summary && summary != expected)
                _problems.Add($"after the purges, {from:O} to {to:O}: {summary}, the processors {expected}");
    }

    private HttpClient Any() => _random.Next(2) == 0 ? system.Api1 : system.Api2;

    private HttpClient Other(string part) => part == GatewaySystem.First ? system.Api2 : system.Api1;
}
