namespace PaymentGateway.Configuration;

/// <summary>Reads single settings with their ranges and says which one is wrong, by its environment name.</summary>
/// <remarks>The binding generator names neither value nor range (docs/decisions/smaller.md#where-ours-stays).</remarks>
internal sealed class SettingsReader(IConfiguration configuration, string section)
{
    private readonly HashSet<string> _known = new(StringComparer.OrdinalIgnoreCase);

    public string? OptionalText(string key)
    {
        _known.Add(key);
        var value = configuration[key];
        return string.IsNullOrWhiteSpace(value) ? null : value;
    }

    /// <summary>Null where it is not set. An empty one is wrong: it would leave open what was to be closed.</summary>
    public string? Secret(string key) =>
        OptionalText(key) ?? (configuration[key] is null ? null : throw Wrong(key, "is empty"));

    /// <summary>A secret that a header can have.</summary>
    public string? HeaderValue(string key)
    {
        var value = Secret(key);
        return value is null || value.All(one => char.IsAscii(one) && !char.IsControl(one))
            ? value
            : throw Wrong(key, "has characters that a header cannot have");
    }

    public string Text(string key, string fallback) => OptionalText(key) ?? fallback;

    public string Required(string key) => OptionalText(key) ?? throw Wrong(key, "is required");

    /// <summary>The names that an operator chose below a key.</summary>
    public IEnumerable<string> Names(string key) =>
        configuration.GetSection(key).GetChildren().Select(child => child.Key);

    public Uri HttpUrl(string key)
    {
        var text = Required(key);
        return Uri.TryCreate(text, UriKind.Absolute, out var url) && url.Scheme is "http" or "https"
            ? new Uri(url.AbsoluteUri.TrimEnd('/') + "/")
            : throw Wrong(key, $"'{text}' is not an absolute http or https URL");
    }

    public int Count(string key, int fallback, int least, int most)
    {
        if (OptionalText(key) is not { } text)
            return fallback;

        return int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var value)
            && value >= least && value <= most
            ? value
            : throw Wrong(key, $"'{text}' is not a whole number from {least} to {most}");
    }

    /// <summary>From 0 to 1.</summary>
    public decimal Fraction(string key, decimal fallback)
    {
        if (OptionalText(key) is not { } text)
            return fallback;

        return decimal.TryParse(text, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out var value)
            && value <= 1
            ? value
            : throw Wrong(key, $"'{text}' is not a number from 0 to 1");
    }

    public TEnum Choice<TEnum>(string key, TEnum fallback) where TEnum : struct, Enum
    {
        if (OptionalText(key) is not { } text)
            return fallback;

        // Enum.TryParse would take numbers too, and 7 is no policy.
        return char.IsLetter(text[0])
            && Enum.TryParse<TEnum>(text, ignoreCase: true, out var value) && Enum.IsDefined(value)
            ? value
            : throw Wrong(key, $"'{text}' is none of {string.Join(", ", Enum.GetNames<TEnum>())}");
    }

    /// <summary>Takes 500ms, 30s, 10m, 30d or hh:mm:ss.</summary>
    public TimeSpan Duration(string key, string fallback, string least, string most) =>
        Within(key, OptionalText(key) ?? fallback, least, most);

    /// <summary>The same; null where it is not set.</summary>
    public TimeSpan? OptionalDuration(string key, string least, string most) =>
        OptionalText(key) is { } text ? Within(key, text, least, most) : null;

    public static ConfigurationException Wrong(string key, string reason) =>
        new(key.Replace(":", "__", StringComparison.Ordinal), reason);

    /// <summary>
    /// A misspelt setting would be silently ignored otherwise. Call it after everything else was read.
    /// </summary>
    public void RefuseUnknown()
    {
        foreach (var (key, value) in configuration.GetSection(section).AsEnumerable())
            if (value is not null && !_known.Contains(key))
                throw Wrong(key, "is no setting of the gateway (docs/configuration.md has them all)");
    }

    private static TimeSpan Within(string key, string text, string least, string most) =>
        TryDuration(text, out var value) && value >= Known(least) && value <= Known(most)
            ? value
            : throw Wrong(key, $"'{text}' is not a duration (500ms, 30s, 10m, 30d, 00:00:30) from {least} to {most}");

    private static bool TryDuration(string text, out TimeSpan value)
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
            return TimeSpan.TryParseExact(digits, "c", CultureInfo.InvariantCulture, out value);

        value = default;
        if (!double.TryParse(digits, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out var number)
            || number * unitMs > TimeSpan.FromDays(3_650).TotalMilliseconds)
            return false;

        value = TimeSpan.FromMilliseconds(number * unitMs);
        return true;
    }

    private static TimeSpan Known(string text) =>
        TryDuration(text, out var value)
            ? value
            : throw new ArgumentException($"'{text}' is no duration.", nameof(text));
}

/// <summary>A setting is wrong or missing; the message is one line and names it as the environment does.</summary>
internal sealed class ConfigurationException(string setting, string reason) : Exception($"{setting}: {reason}")
{
}
