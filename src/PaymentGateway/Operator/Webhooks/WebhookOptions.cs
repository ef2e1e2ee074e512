namespace PaymentGateway.Operator.Webhooks;

/// <summary>An endpoint that events are delivered to. No record, because ToString would show the secret.</summary>
/// <param name="name">In lower case, so that it is the same at each instance.</param>
/// <param name="secrets">One, or two while they are exchanged: an event is signed with each.</param>
/// <param name="types">The types of events that it gets.</param>
/// <param name="allowsPrivate">False: only public addresses.</param>
internal sealed class WebhookOptions(string name, Uri url, byte[][] secrets, string[] types, bool allowsPrivate)
{
    public static readonly string[] Types =
        ["payment.settled", "payment.parked", "payment.replayed", "payment.corrected"];

    private const string Key = "Gateway:Webhooks";
    private const string SecretPrefix = "whsec_";
    private const int Max = 16;
    private const int SecretsMax = 2;

    public string Name => name;

    public Uri Url => url;

    public byte[][] Secrets => secrets;

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
        var allowsHttp = settings.Flag($"{hook}:AllowHttp", false);
        var url = settings.AbsoluteUrl($"{hook}:Url");
        if (url.Scheme != Uri.UriSchemeHttps && !allowsHttp)
            throw SettingsReader.Wrong($"{hook}:Url", "must be an https URL unless AllowHttp is true");
        if (url.UserInfo.Length > 0 || url.Fragment.Length > 0)
            throw SettingsReader.Wrong(
                $"{hook}:Url", "has a user or a fragment, which no call carries: put a secret into the path or query");

        var types = settings.OptionalText($"{hook}:Events")?.Split(',', StringSplitOptions.TrimEntries) ?? Types;
        if (types.Except(Types).FirstOrDefault() is { } unknown)
            throw SettingsReader.Wrong($"{hook}:Events", $"'{unknown}' is none of {string.Join(", ", Types)}");

        return new WebhookOptions(
            name.ToLowerInvariant(), url, SecretsOf(settings.Required($"{hook}:Secret"))
                ?? throw SettingsReader.Wrong(
                    $"{hook}:Secret",
                    $"is not {SecretPrefix} and 24 to 64 bytes in base64, or two of these with a space between them"),
            types, allowsPrivate);
    }

    private static byte[][]? SecretsOf(string text)
    {
        var secrets = new List<byte[]>();
        var bytes = new byte[64];
        foreach (var one in text.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            if (one.StartsWith(SecretPrefix, StringComparison.Ordinal)
                && Convert.TryFromBase64String(one[SecretPrefix.Length..], bytes, out var length) && length >= 24)
                secrets.Add(bytes[..length]);
            else
                return null;

        return secrets.Count <= SecretsMax ? [.. secrets] : null;
    }
}
