namespace PaymentGateway.Storage;

/// <summary>Whether the lock was free.</summary>
internal sealed record LockRow(bool Taken);

/// <summary>UTC; null in an empty ledger.</summary>
internal sealed record OldestRow(DateTime? At);

/// <summary>A window of settlements at one processor; both bounds are inclusive.</summary>
internal sealed record SettledArgs(DateTime From, DateTime To, int Processor, int Limit);

/// <summary>A settlement.</summary>
internal sealed record SettledRow(Guid CorrelationId, long AmountCents, DateTime RequestedAt);

/// <summary>So many payments before a position.</summary>
internal sealed record AcceptedBeforeArgs(DateTime BeforeAt, Guid BeforeId, int Limit);

/// <summary>A payment that a processor may have; Processor is where the ledger has it settled.</summary>
internal sealed record CandidateRow(Guid CorrelationId, DateTime AcceptedAt, long AmountCents, short? Processor)
{
    public PaymentCursor Cursor => new(AcceptedAt, CorrelationId);
}

/// <summary>
/// What a processor holds of an unsettled payment, to be recorded in the ledger of this generation. A parked one is
/// OwnerEpoch's from then on.
/// </summary>
internal sealed record RecordHeldArgs(
    Guid Id, DateTime AcceptedAt, int Processor, long AmountCents, DateTime RequestedAt, int Generation,
    int OwnerEpoch);

/// <summary>A settlement as it was read, and as its processor has it.</summary>
internal sealed record CorrectArgs(
    Guid Id, DateTime AcceptedAt, int WasProcessor, long WasCents, DateTime WasRequestedAt, int Processor,
    long AmountCents, DateTime RequestedAt, int Generation);

/// <summary>A settlement as it was read, and its payment's owner then; no processor has it.</summary>
internal sealed record PutBackArgs(
    Guid Id, DateTime AcceptedAt, int WasOwner, int WasProcessor, long WasCents, DateTime WasRequestedAt,
    int Generation);
