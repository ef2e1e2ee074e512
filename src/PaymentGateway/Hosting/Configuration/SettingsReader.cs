namespace PaymentGateway.Hosting.Configuration;

/// <summary>Reads single settings with their ranges and says which one is wrong, by its environment name.</summary>
/// <remarks>The binding generator names neither value nor range (docs/decisions/smaller.md#where-ours-stays).</remarks>
internal sealed class SettingsReader(IConfiguration configuration)
{
    public const string MoreThanABase = "has a user, a query or a fragment, which no call would have";

    private readonly HashSet<string> _known = new(StringComparer.OrdinalIgnoreCase);

    public string? OptionalText(string key)
    {
        _known.Add(key);
        var value = configuration[key];
        return string.IsNullOrWhiteSpace(value) ? null : value;
    }

    /// <summary>Null where it is not set. An empty one is wrong: it would leave open what it should protect.</summary>
    public string? Secret(string key) =>
        OptionalText(key) ?? (configuration[key] is null ? null : throw Wrong(key, "is empty"));

    /// <summary>A secret that can be sent in a header.</summary>
    public string? HeaderValue(string key)
    {
        var value = Secret(key);
        return value is null || value.All(one => char.IsAscii(one) && !char.IsControl(one))
            ? value
            : throw Wrong(key, "has characters that a header cannot have");
    }

    public string Required(string key) => OptionalText(key) ?? throw Wrong(key, "is required");

    /// <summary>The names that an operator chose below a key.</summary>
    public IEnumerable<string> Names(string key) =>
        configuration.GetSection(key).GetChildren().Select(child => child.Key);

    /// <summary>A base URL, with a slash at its end.</summary>
    public Uri HttpUrl(string key) => AbsoluteUrl(key) is var url && IsBase(url)
        ? new Uri(url.AbsoluteUri.TrimEnd('/') + "/")
        : throw Wrong(key, MoreThanABase);

    /// <summary>Whether the URLs below it have all of it: a user, a query and a fragment would be left out.</summary>
    public static bool IsBase(Uri url) =>
        url.UserInfo.Length == 0 && url.OriginalString.AsSpan().IndexOfAny('?', '#') < 0;

    public Uri AbsoluteUrl(string key)
    {
        var text = Required(key);
        return Uri.TryCreate(text, UriKind.Absolute, out var url) && url.Scheme is "http" or "https"
            ? url
            : throw Wrong(key, $"'{text}' is not an absolute http or https URL");
    }

    public int Count(string key, int fallback, int least, int most) => Value<int>(
        key, $"not a whole number from {least} to {most}",
        text => int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var value)
            && value >= least && value <= most ? value : null) ?? fallback;

    /// <param name="fallback">Null: the setting is required.</param>
    public decimal Fraction(string key, decimal? fallback) => Value<decimal>(
        key, "not a number from 0 to 1",
        static text => decimal.TryParse(
            text, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out var value)
            && value <= 1 ? value : null) ?? fallback ?? throw Wrong(key, "is required");

    public bool Flag(string key, bool fallback) => Value<bool>(
        key, "neither true nor false", static text => bool.TryParse(text, out var value) ? value : null) ?? fallback;

    // Enum.TryParse would take numbers too, and 7 is no policy.
    public TEnum? OptionalChoice<TEnum>(string key) where TEnum : struct, Enum => Value<TEnum>(
        key, $"none of {string.Join(", ", Enum.GetNames<TEnum>())}",
        static text => char.IsLetter(text[0])
            && Enum.TryParse<TEnum>(text, ignoreCase: true, out var value) && Enum.IsDefined(value)
                ? value : null);

    public TEnum Choice<TEnum>(string key, TEnum fallback) where TEnum : struct, Enum =>
        OptionalChoice<TEnum>(key) ?? fallback;

    /// <summary>A time in ISO 8601, UTC where it has no zone.</summary>
    public DateTime? OptionalTime(string key) => Value<DateTime>(
        key, "no time such as 2027-01-31T00:00:00Z",
        static text => Timestamps.TryParse(text, out var utc, out _) ? utc : null);

    /// <summary>Takes 500ms, 30s, 10m, 30d or hh:mm:ss.</summary>
    public TimeSpan Duration(string key, string fallback, string least, string most) =>
        OptionalDuration(key, least, most) ?? DurationOf(fallback)!.Value;

    public TimeSpan? OptionalDuration(string key, string least, string most) => Value<TimeSpan>(
        key, $"not a duration (500ms, 30s, 10m, 30d, 00:00:30) from {least} to {most}",
        text => DurationOf(text) is { } value && value >= DurationOf(least) && value <= DurationOf(most)
            ? value : null);

    public static ConfigurationException Wrong(string key, string reason) =>
        new(key.Replace(":", "__", StringComparison.Ordinal), reason);

    /// <summary>
    /// Refuses a misspelt setting, which would be ignored otherwise. Call it after everything else was read.
    /// </summary>
    public void RefuseUnknown(string section = "Gateway")
    {
        foreach (var (key, value) in configuration.GetSection(section).AsEnumerable())
            if (value is not null && !_known.Contains(key))
                throw Wrong(key, "is no setting of the gateway (docs/configuration.md has them all)");
    }

    private T? Value<T>(string key, string fault, Func<string, T?> parse) where T : struct =>
        OptionalText(key) is { } text ? parse(text) ?? throw Wrong(key, $"'{text}' is {fault}") : null;

    private static TimeSpan? DurationOf(string text)
    {
        var (unitMs, digits) = text switch
        {
            _ when text.EndsWith("ms", StringComparison.Ordinal) => (1d, text[..^2]),
            _ when text.EndsWith('s') => (1_000d, text[..^1]),
            _ when text.EndsWith('m') => (60_000d, text[..^1]),
            _ when text.EndsWith('d') => (86_400_000d, text[..^1]),
            _ => (0d, text),
        };
        if (unitMs == 0)
            return TimeSpan.TryParseExact(text, "c", CultureInfo.InvariantCulture, out var time) ? time : null;

        return double.TryParse(digits, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out var number)
            && number * unitMs <= TimeSpan.FromDays(3_650).TotalMilliseconds
            ? TimeSpan.FromMilliseconds(number * unitMs)
            : null;
    }
}

/// <summary>A setting is wrong or missing; the message is one line and names it as the environment does.</summary>
internal sealed class ConfigurationException(string setting, string reason) : Exception($"{setting}: {reason}");
