using System.Globalization;

namespace PaymentGateway.Tests.Chaos;

/// <summary>What the rig does to a system.</summary>
public enum ChaosKind
{
    /// <summary>kill -9 of an instance; its restart follows after the hold.</summary>
    Kill,

    /// <summary>SIGSTOP of an instance, SIGCONT after the hold.</summary>
    Pause,

    /// <summary>The same while default fails, which heals just before the instance goes on.</summary>
    PauseInOutage,

    /// <summary>SIGTERM of an instance; its start follows after the hold.</summary>
    Terminate,

    /// <summary>PostgreSQL is stopped cleanly and started after the hold.</summary>
    DatabaseRestart,

    /// <summary>kill -9 of all of PostgreSQL, and its start after the hold.</summary>
    DatabaseCrash,

    /// <summary>SIGSTOP of all of PostgreSQL, SIGCONT after the hold.</summary>
    FrozenDatabase,

    /// <summary>SIGSTOP of one backend that serves the gateway, SIGCONT after the hold; the others go on.</summary>
    StalledBackend,

    /// <summary>SIGHUP of nginx: new workers, the old ones end.</summary>
    Reload,

    /// <summary>The failure switch: 500 without a body.</summary>
    Outage,

    /// <summary>Every call takes as long as the amount says, in milliseconds.</summary>
    Slow,

    /// <summary>Charged, and then the connection is reset.</summary>
    StoredThenReset,

    /// <summary>Charged, and then 500 with a body.</summary>
    StoredThenError,

    /// <summary>Charged, and then no answer.</summary>
    StoredThenHang,

    /// <summary>No answer, and charged when the hold is over.</summary>
    Hang,

    /// <summary>429 with Retry-After.</summary>
    TooMany,

    /// <summary>200 with a body that is no answer, nothing charged.</summary>
    Garbage,

    /// <summary>Charged, and then the answer comes at two bytes a second.</summary>
    Trickle,
}

/// <summary>
/// One thing that the rig does; Amount is milliseconds of a delay, how many calls a fault hits, or which backend
/// stalls.
/// </summary>
public sealed record ChaosStep(TimeSpan At, ChaosKind Kind, string Target, TimeSpan Hold, int? Amount = null)
{
    public const string Default = "default";
    public const string Fallback = "fallback";
    public const string Both = "both";

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{At.TotalSeconds,6:0.0} s  {Kind,-15} {Target,-8} for {Hold.TotalSeconds:0.0} s {Amount}").TrimEnd();
}
