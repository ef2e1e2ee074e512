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
