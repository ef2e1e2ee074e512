namespace PaymentGateway.Configuring;

/// <summary>A token for an operator's calls. No record: its text must not have the secret.</summary>
/// <param name="name">Names its holder in the record of operators' actions.</param>
/// <param name="role">The highest role that it has.</param>
/// <param name="secret">The token itself.</param>
internal sealed class AdminToken(string name, Role role, string secret)
{
    /// <summary>Every caller, where no token is needed.</summary>
    public static readonly AdminToken Anyone = new("anyone", Role.Purge, "");

    private const string SingleKey = "Gateway:Admin:Token";
    private const string NamedKey = "Gateway:Admin:Tokens";

    // 64 bits as hexadecimal digits: more than a network can try out.
    private const int LengthMin = 16;

    public string Name => name;

    public Role Role => role;

    public string Secret => secret;

    /// <summary>The single token, called admin, which has every role, and the named ones.</summary>
    /// <exception cref="ConfigurationException">
    /// A token is missing, has another one's value, or is short where other hosts can try it out.
    /// </exception>
    public static IReadOnlyList<AdminToken> Read(SettingsReader settings, ListenUrls urls)
    {
        var tokens = new List<AdminToken>();
        if (settings.Secret("Gateway:Admin:Token") is { } single)
            Add(SingleKey, new AdminToken("admin", Role.Purge, single));
        foreach (var name in settings.Names(NamedKey))
        {
            var key = $"{NamedKey}:{name}";
            Add($"{key}:Token", new AdminToken(
                name, settings.Choice($"{key}:Role", Role.Read), settings.Required($"{key}:Token")));
        }

        return tokens;

        void Add(string key, AdminToken token)
        {
            if (token.Secret.Length < LengthMin && urls.Open is { } open)
                throw SettingsReader.Wrong(
                    key, $"has fewer than {LengthMin} characters, and other hosts reach {open}");
            if (tokens.Exists(other => other.Secret == token.Secret))
                throw SettingsReader.Wrong(key, "has the value of another token");
            tokens.Add(token);
        }
    }
}

/// <summary>What a token allows; each role includes those before it.</summary>
internal enum Role
{
    /// <summary>Calls that change nothing.</summary>
    Read,

    /// <summary>Calls that change something, but for the purge.</summary>
    Operate,

    /// <summary>The purge.</summary>
    Purge,
}
