namespace PaymentGateway.Reconciling;

/// <summary>Why a reconciliation did not come to its end.</summary>
internal enum StopReason
{
    /// <summary>A processor does not answer.</summary>
    ProcessorUnavailable,

    /// <summary>A processor does not take its token.</summary>
    TokenRefused,

    /// <summary>PostgreSQL does not answer, or the connection with the lock broke.</summary>
    LedgerUnavailable,

    /// <summary>The ledger was purged or reset meanwhile.</summary>
    LedgerChanged,

    /// <summary>It took too long.</summary>
    TimeOver,

    /// <summary>The instance stops.</summary>
    Stopping,

    /// <summary>A fault of ours.</summary>
    Failed,
}

/// <summary>A reconciliation cannot go on; the message is for an operator.</summary>
internal sealed class StoppedException(StopReason reason, string message) : Exception(message)
{
    public StopReason Reason => reason;
}
