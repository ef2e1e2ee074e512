namespace PaymentGateway.Tests.Chaos;

public enum ChaosKind
{
    Kill, // kill -9 of an instance; its restart follows after the hold.
    KillBoth, // kill -9 of both instances at once; both start after the hold.
    KillWithDatabase, // kill -9 of an instance and the end of PostgreSQL (a crash, where that loses nothing) at once.
    Pause, // SIGSTOP of an instance, SIGCONT after the hold.
    PauseInOutage, // A pause while default fails, which heals just before the instance goes on.
    Terminate, // SIGTERM of an instance; its start follows after the hold.
    DatabaseRestart, // PostgreSQL is stopped cleanly and started after the hold.
    DatabaseCrash, // kill -9 of all of PostgreSQL, and its start after the hold.
    FrozenDatabase, // SIGSTOP of all of PostgreSQL, SIGCONT after the hold.
    StalledBackend, // SIGSTOP of one backend that serves the gateway, SIGCONT after the hold; the others go on.
    Reload, // SIGHUP of nginx: new workers, the old ones end.
    NginxKill, // kill -9 of nginx; its start follows after the hold.
    Outage, // The failure switch: 500 without a body.
    Slow, // Every call takes as long as the amount says, in milliseconds.
    StoredThenReset, // Charged, and then the connection is reset.
    StoredThenError, // Charged, and then 500 with a body.
    StoredThenHang, // Charged, and then no answer.
    Hang, // No answer, and charged when the hold is over.
    TooMany, // 429 with Retry-After.
    Garbage, // 200 with a body that is no answer, nothing charged.
    Trickle, // Charged, and then the answer comes at two bytes a second.
    LookUpsFail, // Charged, and then the connection is reset, and look-ups give no answer; Amount says how.
    StatusStorm, // A 4xx that comes from something in between; Amount is the status. Nothing is charged.
    TerminatedBackend, // pg_terminate_backend of whatever runs a statement of the gateway, again and again.
    DatabaseCut, // The connections of one instance to PostgreSQL are reset, and so are new ones.
    DatabaseMute, // PostgreSQL hears one instance, and its answers are lost.
    DatabaseHalfOpen, // Nothing passes between one instance and PostgreSQL, and the connections look well.
    DatabaseSlow, // Each piece between one instance and PostgreSQL takes as many milliseconds as the amount says.
    ProcessorCut, // Connections to a processor are reset, and so are new ones.
    ProcessorMute, // A processor hears the gateway, and its answers are lost.
    ProcessorDeaf, // A processor hears nothing of what the gateway sends.
}

/// <param name="Amount">Milliseconds of a delay, calls that a fault hits, or which backend stalls.</param>
public sealed record ChaosStep(TimeSpan At, ChaosKind Kind, string Target, TimeSpan Hold, int? Amount = null)
{
    public const string Default = "default";
    public const string Fallback = "fallback";

    /// <summary>Both instances, or all processors.</summary>
    public const string Both = "both";

    /// <summary>The instance that has taken most payments of late.</summary>
    public const string Loaded = "loaded";

    /// <summary>The target that is these processors.</summary>
    public static string Of(IEnumerable<string> processors) => string.Join('+', processors);

    public static bool Hits(string target, string processor) =>
        target == Both || target.Split('+').Contains(processor);

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{At.TotalSeconds,6:0.0} s  {Kind,-17} {Target,-8} for {Hold.TotalSeconds:0.0} s {Amount}").TrimEnd();
}

public sealed record ChaosDone(ChaosKind Kind, string Target, DateTime From, DateTime To);
