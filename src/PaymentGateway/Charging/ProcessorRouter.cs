namespace PaymentGateway.Charging;

/// <summary>
/// The routing decision: a pure function of the processors in order of their fees, the payment's age and the fallback
/// delay. The simulation of docs/routing.md chose it.
/// </summary>
internal static class ProcessorRouter
{
    /// <summary>No processor takes the payment now.</summary>
    public const int Wait = -1;

    // Processors often recover at the same moment, but the probe of the cheapest may show this 2 s later. Without this
    // grace the whole backlog would go to a dearer one meanwhile.
    private static readonly TimeSpan RecoveryGrace = TimeSpan.FromSeconds(2.5);

    /// <summary>Finds the cheapest usable processor, and waits for a cheaper one where that is worth it.</summary>
    /// <returns>An index into <paramref name="states"/>, or <see cref="Wait"/>.</returns>
    public static int Choose(ReadOnlySpan<ProcessorState> states, TimeSpan age, TimeSpan fallbackAfter)
    {
        for (var at = 0; at < states.Length; at++)
        {
            if (IsEligible(states[at], at) && !(age >= fallbackAfter && IsSkipped(states, at)))
                return at;
            if (IsWorthWaiting(states[at], age, fallbackAfter))
                return Wait;
        }

        return Wait;
    }

    // Past the delay, a processor that once failed to store this payment is skipped for a dearer one. One that refused
    // the payment may not have it as a probe again, otherwise a payment alone could take every probe and never settle.
    private static bool IsSkipped(ReadOnlySpan<ProcessorState> states, int cheaper)
    {
        var state = states[cheaper];
        for (var at = cheaper + 1; at < states.Length; at++)
            if (IsEligible(states[at], at) && (state.IsMissing || (state.IsRefusedProbe
                && states[at].Availability == Availability.Usable)))
                return true;

        return false;
    }

    // A probe goes first even past the fallback delay, because only a probe shows that a processor is back. One runs at
    // a time.
    private static bool IsEligible(ProcessorState state, int at) => state.Availability switch
    {
        Availability.Usable => at == 0 || state.SinceChange >= RecoveryGrace,
        Availability.Probe => true,
        _ => false,
    };

    // A young outage often ends soon, so it is worth a wait until it has lasted longer than the fallback delay. A slow
    // processor gives no such sign. A full one has permits again when calls end.
    private static bool IsWorthWaiting(ProcessorState state, TimeSpan age, TimeSpan fallbackAfter) =>
        age < fallbackAfter && (state.Availability == Availability.Full
            || (state.Fails && state.SinceChange <= fallbackAfter));
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
/// <param name="Fails">The processor failed or asked for a pause; false while it is slow but works.</param>
/// <param name="SinceChange">How long Fails has had this value.</param>
/// <param name="IsMissing">The processor was sent the payment and did not store it.</param>
/// <param name="HasRefused">The processor refused the payment before.</param>
internal readonly record struct ProcessorState(
    Availability Availability, TimeSpan ExpectedLatency, bool Fails, TimeSpan SinceChange, bool IsMissing = false,
    bool HasRefused = false)
{
    public bool IsRefusedProbe => HasRefused && Availability == Availability.Probe;

    /// <summary>The state while no permit is left: a probe that is due cannot be sent.</summary>
    public ProcessorState WithoutPermit() => this with
    {
        Availability = Availability == Availability.Usable ? Availability.Full : Availability.Unusable,
    };
}
