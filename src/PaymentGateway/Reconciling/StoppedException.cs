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

    /// <summary>The ledger was purged or reset meanwhile, or payments of the window have left it.</summary>
    LedgerChanged,

    /// <summary>Payments of the window had left the ledger before.</summary>
    NotKept,

    /// <summary>It took too long.</summary>
    TimeOver,

    /// <summary>The instance stops.</summary>
    Stopping,

    /// <summary>A fault of ours.</summary>
    Failed,
}

/// <summary>A reconciliation cannot go on; the message is for an operator.</summary>
internal sealed class StoppedException(StopReason reason, string message, string? parameter = null) : Exception(message)
{
    public StopReason Reason => reason;

    /// <summary>The parameter that is wrong, where one is.</summary>
    public string? Parameter => parameter;
}
