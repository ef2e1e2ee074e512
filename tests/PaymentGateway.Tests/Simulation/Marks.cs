namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// Rare places that schedules have to reach: statements, lines of the log, and what a mark names. A run that never
/// reaches one has lost power. Safe from any thread.
/// </summary>
internal sealed class Marks
{
    // The least runs in which everything is reached that a few of a hundred schedules reach, and what one of them does.
    private const int Often = 200;
    private const int Seldom = 2_000;

    // Operators' other lists and words, webhooks, standbys, a restored ledger, processors that lose or change what they
    // stored, new tables; and the feed, which the simulation reads itself.
    private static readonly string[] NotSimulated =
    [
        "EventStore.AgeSql", "EventStore.PageSql", "MultiHost.CommitSql", "OperatorActionStore.AddSql",
        "OperatorActionStore.PageSql", "OperatorWordStore.SaySql", "ParkedStore.CountSql", "ParkedStore.ReplaySql",
        "PaymentQueryStore.InDoubtSql", "PaymentQueryStore.PaymentSql", "PaymentQueryStore.SettledSql",
        "ReadingStore.ReadSql", "ReconciliationStore.CorrectSql", "ReconciliationStore.PutBackSql",
        "RestoreStore.ConfiguredSql", "RestoreStore.DoubtAllSql", "SchemaSetup.AppliedSql", "SchemaSetup.LimitSql",
        "SchemaSetup.LockSql", "SchemaSetup.VersionTableSql", "WebhookStore.AddSql", "WebhookStore.FailSql",
        "WebhookStore.KeepSql", "WebhookStore.ListSql", "WebhookStore.ReleaseSql", "WebhookStore.ReplaySql",
        "WebhookStore.TakeSql",
    ];

    // None of these comes by itself.
    private static readonly string[] OftenReached =
    [
        "a charge is answered with 400", "a charge is answered with 422", "a client repeats after a crash",
        "a page of an adoption is full", "a page of the backlog is full",
        "a payment waits for a processor that may have it", "a queue is full", "a reader of events begins again",
        "outcomes fill their buffer", "payments wait in the table", StatementNames.Insert, StatementNames.Purge,
        "ParkedStore.ReplayPageSql", "log 100", "log 211", "log 213", "log 214",
        "log 216", "log 217", "log 402", "log 404", "log 413", "log 420", "log 500",
    ];

    private static readonly string[] SeldomReached =
    [
        "a charge is answered with 429", "a former owner records an outcome", "a purge beside an adoption",
        "a renewal is stored while its instance is frozen", "what was adopted is adopted from its adopter",
        "Health Fails", "Health Hangs", "Health Misleads", "Health Slow", "Health Throttles", "LookUp Breaks",
        "LookUp Fails", "LookUp Hangs", "LookUp Slow", "LookUp Throttles", "log 201", "log 415", "log 421", "log 502",
        "log 600",
    ];

    private readonly ConcurrentDictionary<string, (int First, int Count)> _reached = new();
    private readonly ConcurrentDictionary<string, bool> _now = new();
    private int _schedules;

    /// <summary>What a run of so many schedules has to reach.</summary>
    public static IEnumerable<string> RequiredWithin(int schedules) =>
    [
        .. schedules >= Often ? OftenReached : [],
        .. schedules >= Seldom ? SeldomReached.Concat(StatementNames.All.Except(NotSimulated)) : [],
    ];

    public void Reach(string mark) => _now.TryAdd(mark, true);

    /// <summary>Counts what one schedule has reached.</summary>
    public void EndSchedule()
    {
        var schedule = ++_schedules;
        foreach (var mark in _now.Keys)
            _reached.AddOrUpdate(mark, (schedule, 1), (_, one) => (one.First, one.Count + 1));
        _now.Clear();
    }

    public bool IsReached(string mark) => _reached.ContainsKey(mark);

    /// <summary>The statements that none has reached.</summary>
    private IEnumerable<string> Unreached => StatementNames.All.Concat(OftenReached).Concat(SeldomReached)
        .Where(mark => !IsReached(mark));

    /// <summary>Each mark with the schedule that reached it first, and how many did.</summary>
    public override string ToString() => $"not reached: {string.Join(", ", Unreached)}\n" + string.Join('\n', _reached
        .OrderBy(one => one.Value.Count).ThenBy(one => one.Key, StringComparer.Ordinal)
        .Select(one => $"{one.Value.First,6} {one.Value.Count,6} {one.Key}"));
}
