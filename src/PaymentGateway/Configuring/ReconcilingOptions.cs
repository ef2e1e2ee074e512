namespace PaymentGateway.Configuring;

/// <summary>How ledgers are reconciled; without the processors' tokens they are not.</summary>
/// <param name="DefaultToken">Of default's administration; null where reconciliation is off.</param>
/// <param name="FallbackToken">The same of fallback.</param>
/// <param name="MaxRate">How many calls a reconciliation may begin in a second, at both processors together.</param>
internal sealed record ReconcilingOptions(string? DefaultToken, string? FallbackToken, int MaxRate)
{
    private const string DefaultKey = "Gateway:Processors:Default:AdminToken";
    private const string FallbackKey = "Gateway:Processors:Fallback:AdminToken";

    /// <summary>False: not one call of an administrator leaves this instance.</summary>
    public bool IsOn => DefaultToken is not null;

    /// <summary>Reads both tokens, or none.</summary>
    /// <exception cref="ConfigurationException">One of them is missing, or cannot be sent in a header.</exception>
    public static ReconcilingOptions Read(SettingsReader settings)
    {
        var options = new ReconcilingOptions(
            settings.Secret("Gateway:Processors:Default:AdminToken"),
            settings.Secret("Gateway:Processors:Fallback:AdminToken"),
            settings.Count("Gateway:Reconciling:MaxRate", 300, 100, 100_000));
        if (options.DefaultToken is null != options.FallbackToken is null)
            throw SettingsReader.Wrong(
                options.DefaultToken is null ? DefaultKey : FallbackKey, "is required beside the other processor's");
        if (!CanBeSent(options.DefaultToken))
            throw SettingsReader.Wrong(DefaultKey, "has characters that a header cannot have");
        if (!CanBeSent(options.FallbackToken))
            throw SettingsReader.Wrong(FallbackKey, "has characters that a header cannot have");

        return options;
    }

    /// <summary>The token of <paramref name="processor"/>.</summary>
    public string TokenOf(Processor processor) =>
        (processor == Processor.Default ? DefaultToken : FallbackToken)
        ?? throw new InvalidOperationException("Reconciliation is off.");

    private static bool CanBeSent(string? token) =>
        token is null || token.All(one => char.IsAscii(one) && !char.IsControl(one));
}
