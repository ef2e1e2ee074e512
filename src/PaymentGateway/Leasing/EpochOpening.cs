using PaymentGateway.Configuring;
using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>
/// Begins epochs, but not beside an instance that names other processors: an adopter charges a payment in doubt again,
/// and only the same processor stores it once.
/// </summary>
internal sealed class EpochOpening(LeaseStore leases, InstanceLock instance, GatewayOptions options)
{
    /// <returns>The new epoch.</returns>
    /// <exception cref="ConfigurationException">Another instance, whose lease is valid, names others.</exception>
    public async Task<int> OpenAsync()
    {
        var (defaultUrl, fallbackUrl) = (Text(options.DefaultUrl), Text(options.FallbackUrl));
        var epoch = await leases.OpenAsync(
            new OpenLeaseArgs(instance.Identity, options.Leasing.LeaseDuration, defaultUrl, fallbackUrl));
        // After the row is committed: of two instances that begin at once, at least one finds the other.
        var other = await leases.FindOtherProcessorsAsync(new OtherProcessorsArgs(
            epoch, instance.IsProof ? instance.Identity : "", defaultUrl, fallbackUrl));
        if (other is null)
            return epoch;

        await leases.CloseAsync(epoch);
        throw other.DefaultUrl == defaultUrl
            ? Wrong("Gateway:Processors:Fallback:BaseUrl", fallbackUrl, other.FallbackUrl, other.Instance)
            : Wrong("Gateway:Processors:Default:BaseUrl", defaultUrl, other.DefaultUrl, other.Instance);
    }

    // Without user name and password, because whoever reads the ledger reads it.
    private static string Text(Uri url) => url.GetComponents(UriComponents.HttpRequestUrl, UriFormat.UriEscaped);

    private static ConfigurationException Wrong(string key, string url, string otherUrl, string other) =>
        SettingsReader.Wrong(
            key, $"is {url}, and {other} runs on this ledger with {otherUrl} (stop all instances before a change)");
}
