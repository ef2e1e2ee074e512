namespace PaymentGateway.Routing;

/// <summary>Whether a processor may be sent to.</summary>
internal enum Availability
{
    /// <summary>It answers.</summary>
    Usable,

    /// <summary>It failed or was slow, and one payment may try it now.</summary>
    Probe,

    /// <summary>It answers, and as many charges are in flight as may be.</summary>
    Full,

    /// <summary>It fails or is too slow; the next probe is not due, or is in flight.</summary>
    Unusable,
}

/// <summary>Whether a processor answers, by the age of its last answer to a charge or a health call.</summary>
internal enum Liveness
{
    /// <summary>It answered lately.</summary>
    Alive,

    /// <summary>Its health report is overdue.</summary>
    Unknown,

    /// <summary>Several health calls in a row failed.</summary>
    Dead,
}

/// <summary>What routing knows of one processor at one moment.</summary>
/// <param name="ExpectedLatency">How long a charge is expected to take.</param>
/// <param name="Fails">It failed, or asked to be left alone; false of one that is slow but works.</param>
/// <param name="For">How long it has failed or, otherwise, not failed.</param>
internal readonly record struct ProcessorState(
    Availability Availability, TimeSpan ExpectedLatency, bool Fails, TimeSpan For)
{
    /// <summary>The same while as many charges are in flight as may be: a probe that is due cannot be sent.</summary>
    public ProcessorState WithoutPermit() => this with
    {
        Availability = Availability == Availability.Usable ? Availability.Full : Availability.Unusable,
    };
}

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
