using System.Data.Common;

namespace PaymentGateway.Recording;

/// <summary>An epoch.</summary>
internal sealed record EpochRow(int Epoch) : ISqlRow<EpochRow>
{
    public static EpochRow Read(DbDataReader row) => new(row.GetInt32(0));
}

/// <summary>A closed epoch; LapsedSeconds is how long ago, at least, it has stopped sending.</summary>
internal sealed record OrphanedEpoch(int Epoch, DateTime SettledBefore, double LapsedSeconds) : ISqlRow<OrphanedEpoch>
{
    public static OrphanedEpoch Read(DbDataReader row) => new(row.GetInt32(0), row.GetDateTime(1), row.GetDouble(2));
}

/// <summary>A new lease.</summary>
internal sealed record OpenLeaseArgs(string Instance, TimeSpan Duration) : ISqlArgs
{
    public void AddTo(SqlParameters parameters)
    {
        parameters.Add(nameof(Instance), Instance);
        parameters.Add(nameof(Duration), Duration);
    }
}

/// <summary>A renewal; everything accepted before SettledBefore is settled.</summary>
internal sealed record RenewLeaseArgs(int Epoch, TimeSpan Duration, DateTime SettledBefore) : ISqlArgs
{
    public void AddTo(SqlParameters parameters)
    {
        parameters.Add(nameof(Epoch), Epoch);
        parameters.Add(nameof(Duration), Duration);
        parameters.Add(nameof(SettledBefore), SettledBefore);
    }
}

/// <summary>
/// Earlier epochs of the instance ProvenGone are gone (empty: nothing is proven); Lapsed ones only if told so.
/// </summary>
internal sealed record CloseLeasesArgs(string ProvenGone, int Epoch, bool Lapsed) : ISqlArgs
{
    public void AddTo(SqlParameters parameters)
    {
        parameters.Add(nameof(ProvenGone), ProvenGone);
        parameters.Add(nameof(Epoch), Epoch);
        parameters.Add(nameof(Lapsed), Lapsed);
    }
}

/// <summary>A page to adopt.</summary>
internal sealed record AdoptArgs(int From, int To, DateTime SettledBefore, int Limit) : ISqlArgs
{
    public void AddTo(SqlParameters parameters)
    {
        parameters.Add(nameof(From), From);
        parameters.Add(nameof(To), To);
        parameters.Add(nameof(SettledBefore), SettledBefore);
        parameters.Add(nameof(Limit), Limit);
    }
}

/// <summary>An epoch.</summary>
internal sealed record EpochArgs(int Epoch) : ISqlArgs
{
    public void AddTo(SqlParameters parameters) =>
        parameters.Add(nameof(Epoch), Epoch);
}

/// <summary>What a clean stop hands over.</summary>
internal sealed record ReleaseArgs(int Epoch, DateTime SettledBefore, Guid[] InDoubt) : ISqlArgs
{
    public void AddTo(SqlParameters parameters)
    {
        parameters.Add(nameof(Epoch), Epoch);
        parameters.Add(nameof(SettledBefore), SettledBefore);
        parameters.Add(nameof(InDoubt), InDoubt);
    }
}
