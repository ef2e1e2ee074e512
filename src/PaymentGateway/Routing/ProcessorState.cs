namespace PaymentGateway.Routing;

/// <summary>Whether a processor may be sent to.</summary>
internal enum Availability
{
    /// <summary>It answers.</summary>
    Usable,

    /// <summary>It failed or was slow, and one payment may try it now.</summary>
    Probe,

    /// <summary>It fails or is too slow; the next probe is not due, or is in flight.</summary>
    Unusable,
}

/// <summary>What routing knows of one processor at one moment.</summary>
/// <param name="ExpectedLatency">How long a charge is expected to take.</param>
/// <param name="OutFor">How long it has not been usable; zero while it is.</param>
internal readonly record struct ProcessorState(Availability Availability, TimeSpan ExpectedLatency, TimeSpan OutFor);

/// <summary>Where a payment goes.</summary>
internal enum RouteChoice
{
    /// <summary>Nowhere yet.</summary>
    Wait,

    /// <summary>To the default processor.</summary>
    Default,

    /// <summary>To the fallback processor.</summary>
    Fallback,
}
