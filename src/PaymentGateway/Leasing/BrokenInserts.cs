using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>
/// Finds out what became of INSERTs that broke. The lease refuses their acceptance times from its next renewal on; once
/// every statement that ran before is over, the table has what they stored and gets no more of it. For one loop.
/// </summary>
internal sealed class BrokenInserts(StoredBacklog backlog, LeaseStore leases)
{
    private (int Epoch, DateTime Until, EarlierWriters Earlier)? _asked;

    /// <summary>Checks once; to be called after a renewal.</summary>
    /// <param name="epoch">The one that was renewed.</param>
    /// <param name="refusedUntil">What its lease refuses now; null when nothing is uncertain.</param>
    public async Task CheckAsync(int epoch, DateTime? refusedUntil)
    {
        // One question at a time: what broke meanwhile is asked for when this one has its answer. What broke in a lost
        // epoch is others' to look for.
        if (_asked?.Epoch != epoch)
            _asked = refusedUntil is { } fenced ? (epoch, fenced, new EarlierWriters()) : null;
        if (_asked is not { } question || !question.Earlier.AreOver(await leases.WritersAsync()))
            return;

        backlog.MakeCertain(question.Until);
        _asked = null;
    }
}

/// <summary>
/// Tells when every statement is over that may have begun before a fence against it (a closed epoch, a refused range)
/// was committed. Then all its rows are in the table, so one query is definite. One fence; one loop may ask.
/// </summary>
internal sealed class EarlierWriters
{
    private HashSet<string>? _running;

    /// <summary>True when none is left of those that ran at the first call.</summary>
    /// <param name="writers">Those that ran at a moment after the fence was committed.</param>
    public bool AreOver(List<string> writers)
    {
        _running ??= [.. writers];
        _running.IntersectWith(writers);
        return _running.Count == 0;
    }
}
