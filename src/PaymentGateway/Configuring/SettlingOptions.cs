namespace PaymentGateway.Configuring;

/// <summary>How payments are charged and how doubt is resolved.</summary>
/// <param name="CallTimeout">From the call's begin to its answer's last byte, connecting included.</param>
/// <param name="Linger">How long charges linger when none waits, so that they begin together.</param>
/// <param name="MaxRate">How many charges may begin in a second: a drain shares its core with the acceptances.</param>
/// <param name="InDoubtHorizon">After it, a 404 says that no earlier call can be stored any more.</param>
internal sealed record SettlingOptions(
    TimeSpan CallTimeout, TimeSpan ConnectTimeout, TimeSpan Linger, int MaxConcurrency, int MaxRate,
    int LookupConcurrency, TimeSpan InDoubtHorizon, TimeSpan DrainTimeout)
{
    public static SettlingOptions Read(SettingsReader settings)
    {
        var options = new SettlingOptions(
            settings.Duration("Gateway:Settling:CallTimeout", "10s", "100ms", "5m"),
            settings.Duration("Gateway:Settling:ConnectTimeout", "2s", "50ms", "1m"),
            settings.Duration("Gateway:Settling:Linger", "50ms", "0s", "200ms"),
            settings.Count("Gateway:Settling:MaxConcurrency", 256, 1, 700),
            settings.Count("Gateway:Settling:MaxRate", 2_000, 100, 1_000_000),
            settings.Count("Gateway:Settling:LookupConcurrency", 16, 1, 200),
            settings.Duration("Gateway:Settling:InDoubtHorizon", "15s", "100ms", "60m"),
            settings.Duration("Gateway:Settling:DrainTimeout", "5s", "0s", "5m"));
        // A dead owner's call may still be in flight, and be stored after a 404 that released the payment.
        if (options.InDoubtHorizon < options.CallTimeout)
            throw SettingsReader.Wrong(
                "Gateway:Settling:InDoubtHorizon", "must be at least Gateway__Settling__CallTimeout");

        return options;
    }
}
