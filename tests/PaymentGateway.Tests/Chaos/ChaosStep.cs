using System.Globalization;

namespace PaymentGateway.Tests.Chaos;

/// <summary>What the rig does to a system.</summary>
public enum ChaosKind
{
    /// <summary>kill -9 of an instance; its restart follows after the hold.</summary>
    Kill,

    /// <summary>kill -9 of both instances at once; both start after the hold.</summary>
    KillBoth,

    /// <summary>kill -9 of an instance and the end of PostgreSQL (a crash, where that loses nothing) at once.</summary>
    KillWithDatabase,

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

    /// <summary>kill -9 of nginx; its start follows after the hold.</summary>
    NginxKill,

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

    /// <summary>Charged, and then the connection is reset, and look-ups give no answer; Amount says how.</summary>
    LookUpsFail,

    /// <summary>A 4xx that comes from something in between; Amount is the status. Nothing is charged.</summary>
    StatusStorm,

    /// <summary>pg_terminate_backend of whatever runs a statement of the gateway, again and again.</summary>
    TerminatedBackend,

    /// <summary>The connections of one instance to PostgreSQL are reset, and so are new ones.</summary>
    DatabaseCut,

    /// <summary>PostgreSQL hears one instance, and its answers are lost.</summary>
    DatabaseMute,

    /// <summary>Nothing passes between one instance and PostgreSQL, and the connections look well.</summary>
    DatabaseHalfOpen,

    /// <summary>Each piece between one instance and PostgreSQL takes as many milliseconds as the amount says.</summary>
    DatabaseSlow,

    /// <summary>Connections to a processor are reset, and so are new ones.</summary>
    ProcessorCut,

    /// <summary>A processor hears the gateway, and its answers are lost.</summary>
    ProcessorMute,

    /// <summary>A processor hears nothing of what the gateway sends.</summary>
    ProcessorDeaf,
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

    /// <summary>The instance that has taken most payments of late.</summary>
    public const string Loaded = "loaded";

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{At.TotalSeconds,6:0.0} s  {Kind,-17} {Target,-8} for {Hold.TotalSeconds:0.0} s {Amount}").TrimEnd();
}
