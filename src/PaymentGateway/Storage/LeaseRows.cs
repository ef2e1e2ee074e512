namespace PaymentGateway.Storage;

/// <summary>An epoch.</summary>
internal sealed record EpochRow(int Epoch);

/// <summary>A closed epoch; UsedFallback is false when it has surely charged nothing there.</summary>
internal sealed record OrphanedEpoch(int Epoch, DateTime LowWaterMark, bool UsedFallback);

/// <summary>A new lease. The URLs are null for a lease of an earlier version, which named none.</summary>
internal sealed record OpenLeaseArgs(
    string Instance, TimeSpan Duration, string? DefaultUrl = null, string? FallbackUrl = null);

/// <summary>
/// The processors of Epoch. Leases of ProvenTerminated (empty: nothing is proven) are valid no more.
/// </summary>
internal sealed record OtherProcessorsArgs(int Epoch, string ProvenTerminated, string DefaultUrl, string FallbackUrl);

/// <summary>An instance with a valid lease, and its processors.</summary>
internal sealed record OtherProcessorsRow(string Instance, string DefaultUrl, string FallbackUrl);

/// <summary>
/// A renewal by an owner. Everything accepted before LowWaterMark is settled, and nothing accepted up to RefusedUntil
/// is stored any more. Number rises with each renewal and adoption. Renewed, it closes earlier epochs of the instance
/// ProvenTerminated (empty: nothing is proven), and expired ones if told so. UsesFallback is for good.
/// Reading is how the instance does, as JSON.
/// </summary>
internal sealed record RenewalArgs(
    int Epoch, TimeSpan Duration, DateTime LowWaterMark, DateTime RefusedUntil, long Number, string ProvenTerminated,
    bool CloseExpired, bool UsesFallback = false, string? Reading = null);

/// <summary>What came of a renewal, and the state of the ledger. IsOpen false: the epoch is lost for good.</summary>
internal sealed record RenewalRow(
    bool Renewed, bool IsOpen, int Generation, int Resets, DateTime? ResetAt, bool Intact)
{
    public LedgerState Ledger => new(Generation, Resets, ResetAt, Intact);
}

/// <summary>How an instance did so many seconds ago, by the database's clock.</summary>
/// <param name="Instance">Its identity: no two instances that are up have the same.</param>
/// <param name="Reading">JSON.</param>
internal sealed record ReadingRow(int Epoch, string Instance, string Reading, double AgeSeconds);

/// <summary>A transaction that writes to payments, by a name that no other has.</summary>
internal sealed record WriterRow(string Writer);

/// <summary>
/// A page of the payments of Epoch for the epoch To: Rows are read, settled ones among them, and Limit adopted at most.
/// Number rises with each renewal and adoption.
/// </summary>
internal sealed record AdoptArgs(
    int Epoch, int To, DateTime LowWaterMark, int Limit, long Number = 0, int Rows = OrphanStatements.RowsMax);

/// <summary>Next is where the search goes on; null is the end. The rest is null where nothing was adopted.</summary>
internal sealed record AdoptedRow(
    DateTime? Next, Guid? CorrelationId, long? AmountCents, DateTime? AcceptedAt, int? OwnerEpoch, short? Handover)
{
    public StoredPayment Stored =>
        new(CorrelationId!.Value, AmountCents!.Value, AcceptedAt!.Value, OwnerEpoch!.Value, Handover!.Value);
}

/// <summary>What was adopted of a page, and where the next page begins; null is the end.</summary>
internal sealed record AdoptedPage(List<StoredPayment> Payments, DateTime? Next);

/// <summary>An epoch.</summary>
internal sealed record EpochArgs(int Epoch);

/// <summary>A closed epoch that is searched to its end, and the beginning of its last page.</summary>
internal sealed record SearchedArgs(int Epoch, DateTime LastPage);

/// <summary>What a clean stop hands over; Rows are read by one statement.</summary>
internal sealed record ReleaseArgs(
    int Epoch, DateTime LowWaterMark, Guid[] InDoubt, int Rows = OrphanStatements.RowsMax);

/// <summary>How many payments of a page were released, and where the next page begins; null is the end.</summary>
internal sealed record ReleasedRow(long Released, DateTime? Next);
