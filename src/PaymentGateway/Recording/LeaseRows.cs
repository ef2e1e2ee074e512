namespace PaymentGateway.Recording;

/// <summary>An epoch.</summary>
internal sealed record EpochRow(int Epoch);

/// <summary>A closed epoch; LapsedSeconds is how long ago, at least, it has stopped sending.</summary>
internal sealed record OrphanedEpoch(int Epoch, DateTime SettledBefore, double LapsedSeconds);

/// <summary>A new lease.</summary>
internal sealed record OpenLeaseArgs(string Instance, TimeSpan Duration);

/// <summary>
/// A renewal; everything accepted before SettledBefore is settled, and nothing accepted up to RefusedUntil is stored
/// any more.
/// </summary>
internal sealed record RenewLeaseArgs(int Epoch, TimeSpan Duration, DateTime SettledBefore, DateTime RefusedUntil);

/// <summary>A transaction that writes to payments, by a name that no other has.</summary>
internal sealed record WriterRow(string Writer);

/// <summary>
/// Earlier epochs of the instance ProvenGone are gone (empty: nothing is proven); Lapsed ones only if told so.
/// </summary>
internal sealed record CloseLeasesArgs(string ProvenGone, int Epoch, bool Lapsed);

/// <summary>A page to adopt.</summary>
internal sealed record AdoptArgs(int From, int To, DateTime SettledBefore, int Limit);

/// <summary>An epoch.</summary>
internal sealed record EpochArgs(int Epoch);

/// <summary>What a clean stop hands over.</summary>
internal sealed record ReleaseArgs(int Epoch, DateTime SettledBefore, Guid[] InDoubt);
