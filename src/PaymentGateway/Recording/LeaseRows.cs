namespace PaymentGateway.Recording;

/// <summary>An epoch.</summary>
internal sealed record EpochRow(int Epoch);

/// <summary>A closed epoch; UsedFallback is false when it has surely charged nothing there.</summary>
internal sealed record OrphanedEpoch(int Epoch, DateTime SettledBefore, bool UsedFallback);

/// <summary>A new lease.</summary>
internal sealed record OpenLeaseArgs(string Instance, TimeSpan Duration);

/// <summary>A renewal; everything accepted before SettledBefore is settled. UsesFallback is for good.</summary>
internal sealed record RenewLeaseArgs(
    int Epoch, TimeSpan Duration, DateTime SettledBefore, bool UsesFallback = false);

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
