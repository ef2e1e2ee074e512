namespace PaymentGateway.Processors;

/// <summary>What a charge came to, exactly as the contract tells the answers apart.</summary>
internal enum ChargeResult
{
    /// <summary>200: the processor has stored the payment.</summary>
    Settled,

    /// <summary>422: an earlier call was stored; a look-up tells its requestedAt.</summary>
    AlreadyStored,

    /// <summary>500 without a body, 429, not a byte sent: surely not stored by this call.</summary>
    Refused,

    /// <summary>400: not stored, and it would be so again.</summary>
    Rejected,

    /// <summary>The circuit breaker did not let it out: nothing was sent.</summary>
    NotSent,

    /// <summary>Timeout, broken connection, 500 with a body, another 4xx, anything else: perhaps stored.</summary>
    InDoubt,
}

/// <summary>A charge's result.</summary>
/// <param name="RetryAfter">How long the processor asked to be left alone, or null.</param>
/// <param name="Reason">For people: what was answered, where it was not 200.</param>
internal readonly record struct ChargeOutcome(ChargeResult Result, TimeSpan? RetryAfter = null, string? Reason = null);

/// <summary>What a look-up came to.</summary>
internal enum LookupResult
{
    /// <summary>200: stored there.</summary>
    Found,

    /// <summary>404: not stored there; a call in flight may still be.</summary>
    NotFound,

    /// <summary>No answer that says either.</summary>
    Unknown,
}

/// <summary>A look-up's result; amount and UTC requestedAt are the processor's own.</summary>
internal readonly record struct LookupOutcome(
    LookupResult Result, long AmountCents = 0, DateTime RequestedAt = default, TimeSpan? RetryAfter = null);
