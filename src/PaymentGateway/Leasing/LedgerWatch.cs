using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>Notices that the ledger was purged by some instance, or emptied by a crash of the database.</summary>
internal sealed partial class LedgerWatch(LedgerStateStore ledger, ILogger<LedgerWatch> log)
{
    private volatile LedgerState? _latest;

    /// <summary>When a crash of the database emptied the ledger (UTC); null after a purge. Any thread.</summary>
    public DateTime? ResetAt => _latest?.ResetAt;

    /// <summary>Reads the state; a crash that nobody has noted yet is noted.</summary>
    public async Task<LedgerState> ReadAsync()
    {
        var state = await ledger.StateAsync();
        if (!state.Intact)
        {
            await ledger.MarkResetAsync();
            state = await ledger.StateAsync();
            Log.LedgerReset(log, state.ResetAt);
        }

        return _latest = state;
    }

    /// <summary>
    /// Spoils an epoch whose payments are perhaps not in the ledger any more, and stops their charges.
    /// </summary>
    /// <param name="epoch">The epoch that was renewed.</param>
    /// <param name="state">As the renewal found it.</param>
    public async Task CheckAsync(Epoch epoch, LedgerState state)
    {
        _latest = state.Intact ? state : await ReadAsync();
        if (_latest.IsOf(epoch.Ledger))
            return;

        epoch.StopCharges();
        epoch.Spoil("the ledger was purged, or emptied by a crash of the database");
    }

    private static partial class Log
    {
        [LoggerMessage(216, LogLevel.Error,
            "Ledger reset: a crash of the database emptied its tables, noticed {At:yyyy-MM-dd'T'HH:mm:ss'Z'}")]
        public static partial void LedgerReset(ILogger log, DateTime? at);
    }
}
