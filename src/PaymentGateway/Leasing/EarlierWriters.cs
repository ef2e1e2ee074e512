using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>
/// Tells when every statement is over that may have begun before a bar against it was committed: a closed epoch, a
/// refused range. What it stored is in the table then, and one query is definite. For one loop.
/// </summary>
internal sealed class EarlierWriters(LeaseStore leases)
{
    private readonly Dictionary<int, HashSet<string>> running = [];

    /// <summary>True when none is left of those that ran at the first call for this bar.</summary>
    /// <param name="bar">Names the bar, which is committed.</param>
    public async Task<bool> AreOverAsync(int bar)
    {
        var writers = await leases.WritersAsync();
        if (running.TryGetValue(bar, out var earlier))
            earlier.IntersectWith(writers);
        else
            running.Add(bar, earlier = [.. writers]);
        return earlier.Count == 0;
    }

    /// <summary>Forgets all bars but these.</summary>
    public void KeepOnly(IEnumerable<int> bars)
    {
        foreach (var ended in running.Keys.Except(bars).ToList())
            running.Remove(ended);
    }
}
