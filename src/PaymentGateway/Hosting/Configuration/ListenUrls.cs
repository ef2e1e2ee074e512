namespace PaymentGateway.Hosting.Configuration;

/// <summary>Where an instance listens, and on which of these listeners it takes an operator's calls.</summary>
/// <param name="All">Every URL, separated by semicolons; null when none is set.</param>
/// <param name="Operators">The operator's listeners; when empty, no listener answers an operator's calls.</param>
/// <param name="AdminOnly">The operator's listeners that ASPNETCORE_URLS does not name.</param>
internal sealed record ListenUrls(
    string? All, IReadOnlyList<BindingAddress> Operators, IReadOnlyList<BindingAddress> AdminOnly)
{
    private const string MainSetting = "ASPNETCORE_URLS";
    private const string AdminKey = "Gateway:Admin:Urls";

    /// <summary>A listener that other hosts reach; null when there is none.</summary>
    public BindingAddress? Open => Split(All ?? "").Select(Parse)
        .FirstOrDefault(address => address is not null && !IsLoopback(address));

    /// <summary>Reads both settings; a URL in both is a shared listener.</summary>
    public static ListenUrls Read(SettingsReader settings)
    {
        var urls = settings.OptionalText("urls");
        if (settings.OptionalText("Gateway:Admin:Urls") is not { } adminUrls)
            return new ListenUrls(urls, [], []);

        if (urls is null)
            throw new ConfigurationException(MainSetting, "is required beside Gateway__Admin__Urls");

        var main = Split(urls).Select(url => Parse(url) ?? throw Wrong(MainSetting, url)).ToList();
        var admin = Split(adminUrls)
            .Select(url => Parse(url) is { Scheme: "http" } address ? address : throw Wrong(AdminKey, url)).ToList();
        // A connection's listener is known by its port alone.
        var mixed = admin.Find(address => !address.IsUnixPipe && main.Exists(
            other => !other.IsUnixPipe && other.Port == address.Port && !other.Equals(address)));
        if (mixed is not null)
            throw SettingsReader.Wrong(AdminKey, $"port {mixed.Port} is one of {MainSetting} at another host");

        // The text as it was given, because BindingAddress writes a path in lower case.
        var added = Split(adminUrls).Where(url => !main.Contains(BindingAddress.Parse(url)));
        return new ListenUrls(string.Join(';', added.Prepend(urls)), admin, admin.Except(main).ToList());
    }

    /// <summary>Refuses an operator's port that other hosts reach.</summary>
    public void RequireLoopback()
    {
        if (Operators.FirstOrDefault(address => !IsLoopback(address)) is { } open)
            throw SettingsReader.Wrong(
                AdminKey, $"{open} is reached by other hosts: set Gateway__Admin__Token, or "
                    + $"Gateway__Admin__WithoutToken={Tokenless.Anywhere}");
    }

    // Kestrel listens on every address for each name but localhost.
    private static bool IsLoopback(BindingAddress address) => address.IsUnixPipe
        || address.Host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
        || (IPAddress.TryParse(address.Host, out var ip) && IPAddress.IsLoopback(ip));

    private static string[] Split(string urls) =>
        urls.Split(';', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);

    private static ConfigurationException Wrong(string key, string url) =>
        SettingsReader.Wrong(key, $"'{url}' is not a URL to listen on, such as http://unix:/run/admin.sock");

    private static BindingAddress? Parse(string url)
    {
        try
        {
            return BindingAddress.Parse(url);
        }
        catch (FormatException)
        {
            return null;
        }
    }
}

/// <summary>
/// Where no token is required: on Unix sockets and loopback addresses, or on every operator's listener, because a
/// firewall or the publishing of ports keeps other hosts away.
/// </summary>
internal enum Tokenless
{
    Loopback,
    Anywhere,
}
