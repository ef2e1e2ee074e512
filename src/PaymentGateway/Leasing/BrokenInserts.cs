using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>
/// Waits until INSERTs that broke are over. From its next renewal on the lease refuses their acceptance times; when all
/// earlier statements have ended, the table has every row that they stored. For one loop.
/// </summary>
internal sealed class BrokenInserts(StoredBacklog backlog, LeaseStore leases)
{
    private (int Epoch, DateTime Until, EarlierWriters Earlier)? _asked;

    /// <summary>Checks once, after a renewal.</summary>
    /// <param name="epoch">The renewed one.</param>
    /// <param name="refusedUntil">What its lease refuses now; null when nothing is uncertain.</param>
    public async Task CheckAsync(int epoch, DateTime? refusedUntil)
    {
        // INSERTs that break meanwhile have the next turn. An adopter finds the INSERTs of a lost epoch.
        if (_asked?.Epoch != epoch)
            _asked = refusedUntil is { } fenced ? (epoch, fenced, new EarlierWriters()) : null;
        if (_asked is not { } asked || !asked.Earlier.AreOver(await leases.WritersAsync()))
            return;

        backlog.MakeCertain(asked.Until);
        _asked = null;
    }
}

/// <summary>
/// The statements that may have begun before a fence against them (a closed epoch, a refused range) was committed. When
/// they are over, prepared ones too, all their rows are in the table, so one query is definite. For one loop.
/// </summary>
internal sealed class EarlierWriters
{
    private HashSet<string>? _first;
    private HashSet<string>? _prepared;

    /// <summary>Whether all that ran at the first call are over.</summary>
    /// <param name="writers">All that ran at a moment after the fence was committed.</param>
    public bool AreOver(List<string> writers) =>
        // A transaction that has lost its lock since the first call may be prepared now, under another name.
        HaveEnded(ref _first, writers)
        && HaveEnded(ref _prepared, writers.FindAll(one => one.StartsWith("prepared ", StringComparison.Ordinal)));

    private static bool HaveEnded(ref HashSet<string>? awaited, List<string> writers)
    {
        (awaited ??= [.. writers]).IntersectWith(writers);
        return awaited.Count == 0;
    }
}
