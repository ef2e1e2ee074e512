using PaymentGateway.Configuring;

namespace PaymentGateway.Routing;

/// <summary>The routing decision: a pure function of both processors, the payment's age and the options.</summary>
internal static class ProcessorRouter
{
    /// <param name="cheap">The default processor.</param>
    /// <param name="dear">The fallback processor.</param>
    /// <param name="age">Time since the payment was accepted.</param>
    /// <param name="options">Policy and patience.</param>
    public static RouteChoice Choose(ProcessorState cheap, ProcessorState dear, TimeSpan age, RoutingOptions options) =>
        options.Policy switch
        {
            RoutingPolicy.Fastest => Fastest(cheap, dear),
            RoutingPolicy.Balanced => CheapUnless(Hopeless(cheap, age, options), cheap, dear),
            _ => CheapUnless(age >= options.Patience, cheap, dear),
        };

    private static RouteChoice CheapUnless(bool impatient, ProcessorState cheap, ProcessorState dear)
    {
        // A probe goes first even past the patience: there is one at a time, and without it nobody would notice that
        // the cheap processor is back.
        if (cheap.Availability != Availability.Unusable)
            return RouteChoice.Default;

        return impatient && dear.Availability != Availability.Unusable ? RouteChoice.Fallback : RouteChoice.Wait;
    }

    // An outage is expected to last as long again as it has lasted: past the rest of the patience waiting is in vain.
    private static bool Hopeless(ProcessorState cheap, TimeSpan age, RoutingOptions options) =>
        age >= options.Patience || cheap.OutFor > options.Patience - age;

    private static RouteChoice Fastest(ProcessorState cheap, ProcessorState dear) =>
        (cheap.Availability, dear.Availability) switch
        {
            (Availability.Usable, Availability.Usable) =>
                cheap.ExpectedLatency <= dear.ExpectedLatency ? RouteChoice.Default : RouteChoice.Fallback,
            (Availability.Usable or Availability.Probe, _) => RouteChoice.Default,
            (_, Availability.Unusable) => RouteChoice.Wait,
            _ => RouteChoice.Fallback,
        };
}
