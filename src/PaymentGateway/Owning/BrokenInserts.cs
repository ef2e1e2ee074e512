using PaymentGateway.Recording;

namespace PaymentGateway.Owning;

/// <summary>
/// Finds out what became of INSERTs that broke. The lease refuses their acceptance times from its next renewal on; once
/// every statement that ran before is over, the table has what they stored and gets no more of it. For one loop.
/// </summary>
internal sealed class BrokenInserts(StoredBacklog backlog, LeaseStore leases)
{
    private readonly EarlierWriters earlier = new(leases);
    private DateTime? asked;

    /// <summary>Looks once; to be called after each renewal.</summary>
    /// <param name="refusedUntil">What the renewal refuses; null when nothing is uncertain.</param>
    public async Task LookAsync(DateTime? refusedUntil)
    {
        // One question at a time: what broke meanwhile is asked for when this one has its answer.
        asked ??= refusedUntil;
        if (asked is not { } until || !await earlier.AreOverAsync(0))
            return;

        backlog.MakeCertain(until);
        Forget();
    }

    /// <summary>The epoch is lost, and what is uncertain with it.</summary>
    public void Forget()
    {
        asked = null;
        earlier.KeepOnly([]);
    }
}
