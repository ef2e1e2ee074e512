using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>
/// Finds out what became of INSERTs that broke. The lease refuses their acceptance times from its next renewal on; once
/// every statement that ran before is over, the table has what they stored and gets no more of it. For one loop.
/// </summary>
internal sealed class BrokenInserts(StoredBacklog backlog, LeaseStore leases)
{
    private readonly EarlierWriters _earlier = new();
    private (int Epoch, DateTime Until)? _asked;

    /// <summary>Checks once; to be called after a renewal.</summary>
    /// <param name="epoch">The one that was renewed.</param>
    /// <param name="refusedUntil">What its lease refuses now; null when nothing is uncertain.</param>
    public async Task CheckAsync(int epoch, DateTime? refusedUntil)
    {
        // One question at a time: what broke meanwhile is asked for when this one has its answer. What broke in a lost
        // epoch is others' to look for.
        if (_asked?.Epoch != epoch)
        {
            _asked = refusedUntil is { } fenced ? (epoch, fenced) : null;
            _earlier.KeepOnly([]);
        }

        if (_asked is not { } question || !_earlier.AreOver(epoch, await leases.WritersAsync()))
            return;

        backlog.MakeCertain(question.Until);
        _asked = null;
    }
}

/// <summary>
/// Tells when every statement is over that may have begun before a fence against it was committed: a closed epoch, a
/// refused range. What it stored is in the table then, and one query is definite. For one loop.
/// </summary>
internal sealed class EarlierWriters
{
    private readonly Dictionary<int, HashSet<string>> _running = [];

    /// <summary>True when none is left of those that ran at the first call for this fence.</summary>
    /// <param name="fence">Names the fence.</param>
    /// <param name="writers">Those that ran at a moment after the fence was committed.</param>
    public bool AreOver(int fence, List<string> writers)
    {
        if (_running.TryGetValue(fence, out var earlier))
            earlier.IntersectWith(writers);
        else
            _running.Add(fence, earlier = [.. writers]);
        return earlier.Count == 0;
    }

    /// <summary>Forgets all fences but these.</summary>
    public void KeepOnly(IEnumerable<int> fences)
    {
        foreach (var ended in _running.Keys.Except(fences).ToList())
            _running.Remove(ended);
    }
}
