namespace PaymentGateway.Configuration;

/// <summary>An endpoint that events are delivered to. No record, because ToString would show the secret.</summary>
/// <param name="types">The types of events that it gets.</param>
/// <param name="allowsPrivate">False: only https and public addresses.</param>
internal sealed class WebhookOptions(string name, Uri url, byte[] secret, string[] types, bool allowsPrivate)
{
    public static readonly string[] Types =
        ["payment.settled", "payment.parked", "payment.replayed", "payment.corrected"];

    private const string Key = "Gateway:Webhooks";
    private const string SecretPrefix = "whsec_";
    private const int Max = 16;

    public string Name => name;

    public Uri Url => url;

    public byte[] Secret => secret;

    public string[] WantedTypes => types;

    public bool AllowsPrivate => allowsPrivate;

    public static IReadOnlyList<WebhookOptions> Read(SettingsReader settings)
    {
        var all = settings.Names(Key).Select(name => Read(settings, name, $"{Key}:{name}")).ToList();
        return all.Count <= Max ? all : throw SettingsReader.Wrong(Key, $"names more than {Max} endpoints");
    }

    private static WebhookOptions Read(SettingsReader settings, string name, string hook)
    {
        if (!name.All(char.IsAsciiLetterOrDigit))
            throw SettingsReader.Wrong(hook, $"'{name}' has other characters than letters and digits");

        var allowsPrivate = settings.Flag($"{hook}:AllowPrivate", false);
        var url = settings.AbsoluteUrl($"{hook}:Url");
        if (url.Scheme != Uri.UriSchemeHttps && !allowsPrivate)
            throw SettingsReader.Wrong($"{hook}:Url", "must be an https URL unless AllowPrivate is true");

        var types = settings.OptionalText($"{hook}:Events")?.Split(',', StringSplitOptions.TrimEntries) ?? Types;
        if (types.Except(Types).FirstOrDefault() is { } unknown)
            throw SettingsReader.Wrong($"{hook}:Events", $"'{unknown}' is none of {string.Join(", ", Types)}");

        return new WebhookOptions(
            name, url, SecretOf(settings.Required($"{hook}:Secret")) ?? throw SettingsReader.Wrong(
                $"{hook}:Secret", $"is not {SecretPrefix} and 24 to 64 bytes in base64"), types, allowsPrivate);
    }

    private static byte[]? SecretOf(string text)
    {
        var bytes = new byte[64];
        return text.StartsWith(SecretPrefix, StringComparison.Ordinal)
            && Convert.TryFromBase64String(text[SecretPrefix.Length..], bytes, out var length) && length >= 24
                ? bytes[..length]
                : null;
    }
}
