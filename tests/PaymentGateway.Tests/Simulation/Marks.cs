namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// Rare places that schedules have to reach: statements, lines of the log, and what a mark names. A run that never
/// reaches one has lost power. Safe from any thread.
/// </summary>
internal sealed class Marks
{
    private readonly ConcurrentDictionary<string, (int First, int Count)> _reached = new();
    private readonly ConcurrentDictionary<string, bool> _now = new();
    private int _schedules;

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

    /// <summary>Each mark with the schedule that reached it first, and how many did.</summary>
    public override string ToString() => string.Join('\n', _reached
        .OrderBy(one => one.Value.Count).ThenBy(one => one.Key, StringComparer.Ordinal)
        .Select(one => $"{one.Value.First,6} {one.Value.Count,6} {one.Key}"));
}
