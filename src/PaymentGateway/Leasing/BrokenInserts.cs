using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>
/// Waits for the end of INSERTs that broke. From the next renewal on the lease refuses their acceptance times, so when
/// all earlier statements have ended, the table has every row of theirs. For one loop.
/// </summary>
internal sealed class BrokenInserts(StoredBacklog backlog, AdoptionStore adoptions)
{
    private (int Epoch, DateTime Until, EarlierWriters Earlier)? _asked;

    /// <summary>Checks once, after a renewal.</summary>
    /// <param name="epoch">The renewed epoch.</param>
    /// <param name="refusedUntil">The last refused acceptance time (UTC); null when none is uncertain.</param>
    public async Task CheckAsync(int epoch, DateTime? refusedUntil)
    {
        // INSERTs that break meanwhile wait for the next check. An adopter handles those of a lost epoch.
        if (_asked?.Epoch != epoch)
            _asked = refusedUntil is { } fenced ? (epoch, fenced, new EarlierWriters()) : null;
        if (_asked is not { } asked || !asked.Earlier.AreOver(await adoptions.WritersAsync()))
            return;

        backlog.MakeCertain(asked.Until);
        _asked = null;
    }
}

/// <summary>
/// The statements that may have begun before a fence (a closed epoch, a refused range) was committed. When all have
/// ended, prepared ones too, one query finds all their rows. For one loop.
/// </summary>
internal sealed class EarlierWriters
{
    private HashSet<string>? _first;
    private HashSet<string>? _prepared;

    /// <summary>Whether every statement that ran at the first call has ended.</summary>
    /// <param name="writers">The statements that ran at a moment after the fence was committed.</param>
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
