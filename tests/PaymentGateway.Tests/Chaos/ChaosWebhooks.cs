using PaymentGateway.Tests.Operator.Webhooks;

namespace PaymentGateway.Tests.Chaos;

/// <summary>
/// An endpoint of webhooks whose receiver is healthy, slow, mute, down, redirecting or failing, in phases of the seed.
/// Once it is healthy again, it gets exactly the events of the ledger, each at least once, first calls in the feed's
/// order.
/// </summary>
/// <remarks>
/// A purge begins another ledger, which the positions of its events name, and events of earlier ledgers need not be
/// delivered: <see cref="CompareAsync"/> compares the ledger that is there. A crash that empties UNLOGGED tables begins
/// another one, too; payments that instances store again have new events there. The schedule has no such crash.
/// </remarks>
internal sealed class ChaosWebhooks(WebhookReceiver receiver, int seed) : IAsyncDisposable
{
    private const string Setting = "Gateway__Webhooks__chaos__";
    private const string Path = "/chaos";
    private const string Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    private const int Parked = 6;

    // A killed instance keeps the endpoint for 30 s.
    private static readonly TimeSpan StallMax = TimeSpan.FromSeconds(90);

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(300);

    private readonly Relay _relay = new(
        new IPEndPoint(IPAddress.Loopback, 0), () => IPEndPoint.Parse(new Uri(receiver.Url).Authority));

    private readonly Random _random = new(seed);
    private readonly Dictionary<string, ReceivedWebhook> _first = [];
    private readonly HashSet<string> _delivered = [];
    private readonly List<string> _phases = [];
    private readonly List<string> _problems = [];
    private string _latest = "";
    private int _judged;

    public IEnumerable<string> Problems => _judged > _delivered.Count
        ? _problems
        : _problems.Append("webhooks: no phase had a call fail or be repeated");

    public override string ToString() =>
        $"{_delivered.Count} events delivered in {_judged} calls, {_judged - _first.Count} of them again; "
        + string.Join(", ", _phases);

    public (string Name, string Value)[] Settings =>
    [
        (Setting + "Url", $"http://{_relay.Address}{Path}"), (Setting + "Secret", Secret),
        (Setting + "AllowPrivate", "true"), (Setting + "AllowHttp", "true"),
    ];

    /// <summary>The endpoint gets what happens from then on.</summary>
    public static Task HasBegunAsync(GatewaySystem system) => Eventually.HoldsAsync(
        async () => await system.Database.CountAsync("webhooks WHERE position <> ''") == 1,
        "the endpoint has a position");

    public async Task RunWhileAsync(Task end)
    {
        (string Name, RelayFault Fault, int Status)[] phases =
        [
            ("healthy", RelayFault.None, 200), ("slow", new(Delay: TimeSpan.FromSeconds(0.3)), 200),
            ("mute", new(DropsAnswers: true), 200), ("down", new(Cut: true), 200),
            ("redirecting", RelayFault.None, 302), ("failing", RelayFault.None, 500),
        ];
        for (var at = 0; !end.IsCompleted; at++)
        {
            if (at % phases.Length == 0)
                _random.Shuffle(phases);
            var (name, fault, status) = phases[at % phases.Length];
            _relay.Set(fault);
            receiver.Status = status;
            await Task.WhenAny(end, Task.Delay(TimeSpan.FromSeconds(2 + 4 * _random.NextDouble())));
            _phases.Add($"{name} {JudgeCalls()}");
        }

        _relay.Heal();
        receiver.Status = 200;
    }

    /// <summary>To be called when everything is healthy and settled.</summary>
    public async Task CompareAsync(GatewaySystem system)
    {
        await ParkAsync(system);
        var ledger = await system.Database.ScalarAsync<string>(
            "SELECT concat(generation, '-', resets, '-') FROM ledger WHERE id = 1");
        var events = (await system.Database.ScalarAsync<string[]>($"""
            SELECT array_agg(concat('{ledger}', recorded_by, '-', replace(correlation_id::text, '-', '')))
            FROM (SELECT recorded_by, correlation_id FROM settlements WHERE recorded_by IS NOT NULL
                  UNION ALL SELECT recorded_by, correlation_id FROM payment_events) AS told
            """)).ToHashSet();
        var progress = Stopwatch.StartNew();
        while (!_delivered.IsSupersetOf(events) && progress.Elapsed < StallMax)
        {
            await SkipPauseAsync(system);
            await Task.Delay(PollInterval);
            if (JudgeCalls() > 0)
                progress.Restart();
        }

        Report("events were not delivered", events.Except(_delivered));
        Report("delivered events are not in the ledger", _delivered
            .Where(id => id.StartsWith(ledger, StringComparison.Ordinal) && !events.Contains(id)));
    }

    public async ValueTask DisposeAsync()
    {
        await _relay.DisposeAsync();
        await receiver.DisposeAsync();
    }

    // After many failures in a row the next try may be an hour away. What is held is so for 30 s at most.
    private async Task SkipPauseAsync(GatewaySystem system)
    {
        var skipped = await system.Database.ScalarAsync<double?>("""
            WITH paused AS (
                SELECT name, due_at FROM webhooks WHERE failures > 0 AND due_at > now() + interval '31 seconds')
            UPDATE webhooks SET due_at = now() FROM paused WHERE webhooks.name = paused.name
            RETURNING extract(epoch FROM paused.due_at - now())::float8
            """);
        if (skipped is { } seconds)
            _phases.Add(string.Create(CultureInfo.InvariantCulture, $"a pause of {seconds:0} s skipped"));
    }

    // No step of the schedule parks a payment. Half of these are replayed.
    private static async Task ParkAsync(GatewaySystem system)
    {
        foreach (var processor in system.Processors.Values)
            await processor.SetFaultsAsync(new { status = 400 });
        var load = new LoadLedger();
        await Task.WhenAll(Enumerable.Range(0, Parked).Select(_ => LoadDriver.PostAsync(
            system.Client, load, retry: new LoadRetry(Times: 20, PollInterval))));
        await Eventually.HoldsAsync(
            async () => await system.Database.CountAsync(
                $"payments WHERE owner_epoch = {Owners.Sql.Parked}") == Parked, "payments are parked");
        foreach (var processor in system.Processors.Values)
            await processor.HealAsync();
        foreach (var one in load.Entries.Take(Parked / 2))
            (await system.Api1.PostAsync($"admin/parked/{one.Id}/replay", null)).EnsureSuccessStatusCode().Dispose();
        await Eventually.HoldsAsync(system.IsIdleAsync, "replayed payments are settled");
    }

    private int JudgeCalls()
    {
        var calls = receiver.CallsOf(Path)[_judged..];
        _judged += calls.Count;
        foreach (var call in calls)
        {
            var position = call.Event.Text("position")!;
            if (call.Status == 200)
                _delivered.Add(position);
            if (call.Id != call.Event.Text("id")
                || !WebhookSnippet.Verify(Secret, call.Id, call.Timestamp, call.Signature, call.Body))
                _problems.Add($"webhook {call.Id}: its signature or id is wrong");
            if (!_first.TryAdd(call.Id, call))
            {
                if (!call.Body.AsSpan().SequenceEqual(_first[call.Id].Body))
                    _problems.Add($"webhook {call.Id}: repeated with another body");
                continue;
            }

            var at = EventCursor.TryRead(position)!;
            var place = $"{at.Generation:D10} {at.Resets:D10} {at.Transaction:D20} {at.Id:N}";
            if (string.CompareOrdinal(place, _latest) < 0)
                _problems.Add($"webhook {call.Id} came after {_latest}");
            _latest = place;
        }

        return calls.Count;
    }

    private void Report(string what, IEnumerable<string> found)
    {
        var all = found.ToList();
        if (all.Count > 0)
            _problems.Add($"webhooks: {all.Count} {what}, such as {string.Join(' ', all.Take(3))}");
    }
}
