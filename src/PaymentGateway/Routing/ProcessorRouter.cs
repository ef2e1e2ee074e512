namespace PaymentGateway.Routing;

/// <summary>
/// The routing decision: a pure function of both processors, the payment's age and the fallback delay. The simulation
/// of docs/routing.md chose it.
/// </summary>
internal static class ProcessorRouter
{
    // Both processors often recover at the same moment. A probe that was sent before takes up to 2 s to say so of the
    // default processor, and meanwhile the whole backlog would go to fallback.
    private static readonly TimeSpan RecoveryGrace = TimeSpan.FromSeconds(2.5);

    public static RouteChoice Choose(
        ProcessorState atDefault, ProcessorState atFallback, TimeSpan age, TimeSpan fallbackAfter,
        bool isMissingAtDefault = false)
    {
        // Default was sent it before and did not store it: past the delay it is no probe any more.
        if (isMissingAtDefault && age >= fallbackAfter && IsOpen(atFallback))
            return RouteChoice.Fallback;

        // A probe goes first even past the fallback delay: there is one at a time, and without it nobody would notice
        // that the default processor is back.
        if (atDefault.Availability is Availability.Usable or Availability.Probe)
            return RouteChoice.Default;

        return IsOpen(atFallback) && !IsWorthWaiting(atDefault, age, fallbackAfter)
            ? RouteChoice.Fallback
            : RouteChoice.Wait;
    }

    private static bool IsOpen(ProcessorState atFallback) => atFallback.Availability switch
    {
        Availability.Usable => atFallback.For >= RecoveryGrace,
        Availability.Probe => true,
        _ => false,
    };

    // A processor that fails is likely to recover soon, until its outage has lasted longer than a payment would wait.
    // A processor that is slow but works gives no such sign. A full processor has permits again when calls end.
    private static bool IsWorthWaiting(ProcessorState atDefault, TimeSpan age, TimeSpan fallbackAfter) =>
        age < fallbackAfter && (atDefault.Availability == Availability.Full
            || (atDefault.Fails && atDefault.For <= fallbackAfter));
}

internal enum Availability
{
    Usable,

    /// <summary>The processor failed or was slow, and one payment may try it now.</summary>
    Probe,

    /// <summary>The processor answers, and no permit is left.</summary>
    Full,

    /// <summary>The processor fails or is too slow; the next probe is not due, or is in flight.</summary>
    Unusable,
}

/// <summary>The state of one processor as routing sees it at one moment.</summary>
/// <param name="Fails">It failed, or asked to be left alone; false while it is slow but works.</param>
/// <param name="For">Since when Fails has this value.</param>
internal readonly record struct ProcessorState(
    Availability Availability, TimeSpan ExpectedLatency, bool Fails, TimeSpan For)
{
    /// <summary>The state while no permit is left: a probe that is due cannot be sent.</summary>
    public ProcessorState WithoutPermit() => this with
    {
        Availability = Availability == Availability.Usable ? Availability.Full : Availability.Unusable,
    };
}

internal enum RouteChoice
{
    Wait,
    Default,
    Fallback,
}
