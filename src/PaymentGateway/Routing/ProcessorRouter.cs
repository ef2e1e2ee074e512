using PaymentGateway.Configuring;

namespace PaymentGateway.Routing;

/// <summary>The routing decision: a pure function of both processors, the payment's age and the options.</summary>
internal static class ProcessorRouter
{
    /// <param name="atDefault">The default processor.</param>
    /// <param name="atFallback">The fallback processor.</param>
    /// <param name="age">Time since the payment was accepted.</param>
    /// <param name="options">Policy and fallback delay.</param>
    public static RouteChoice Choose(
        ProcessorState atDefault, ProcessorState atFallback, TimeSpan age, RoutingOptions options) =>
        options.Policy switch
        {
            RoutingPolicy.Fastest => Fastest(atDefault, atFallback),
            RoutingPolicy.Balanced => DefaultUnless(Hopeless(atDefault, age, options), atDefault, atFallback),
            _ => DefaultUnless(age >= options.FallbackAfter, atDefault, atFallback),
        };

    private static RouteChoice DefaultUnless(bool mayFallBack, ProcessorState atDefault, ProcessorState atFallback)
    {
        // A probe goes first even past the fallback delay: there is one at a time, and without it nobody would notice
        // that the default processor is back.
        if (atDefault.Availability != Availability.Unusable)
            return RouteChoice.Default;

        return mayFallBack
            && atFallback.Availability != Availability.Unusable ? RouteChoice.Fallback : RouteChoice.Wait;
    }

    // An outage is expected to last as long again as it has lasted: past the rest of the fallback delay waiting is in
    // vain.
    private static bool Hopeless(ProcessorState atDefault, TimeSpan age, RoutingOptions options) =>
        age >= options.FallbackAfter || atDefault.OutFor > options.FallbackAfter - age;

    private static RouteChoice Fastest(ProcessorState atDefault, ProcessorState atFallback) =>
        (atDefault.Availability, atFallback.Availability) switch
        {
            (Availability.Usable, Availability.Usable) =>
                atDefault.ExpectedLatency <= atFallback.ExpectedLatency ? RouteChoice.Default : RouteChoice.Fallback,
            (Availability.Usable or Availability.Probe, _) => RouteChoice.Default,
            (_, Availability.Unusable) => RouteChoice.Wait,
            _ => RouteChoice.Fallback,
        };
}
