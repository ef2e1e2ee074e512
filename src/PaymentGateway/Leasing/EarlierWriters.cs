namespace PaymentGateway.Leasing;

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
