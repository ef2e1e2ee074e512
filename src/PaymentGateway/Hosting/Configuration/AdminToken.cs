using System.Runtime.InteropServices;
using System.Security.Cryptography;

namespace PaymentGateway.Hosting.Configuration;

/// <summary>A token of an operator or a payer. No record, because ToString would show the secret.</summary>
/// <param name="name">Names its holder; several tokens may have one, so that one replaces another.</param>
/// <param name="role">The highest role that it has.</param>
/// <param name="secret">Or the subject of a client certificate, which is none.</param>
internal sealed class AdminToken(string name, Role role, string secret)
{
    /// <summary>How many there may be, because each is compared with that of each payment.</summary>
    public const int Max = 256;

    /// <summary>Every caller, where no token is needed.</summary>
    public static readonly AdminToken Anyone = new("anyone", Role.Purge, "");

    private const string NamedKey = "Gateway:Admin:Tokens";

    // 64 bits as hexadecimal digits: more than a network can try out.
    private const int LengthMin = 16;

    private const int PayerLengthMax = 64;

    private readonly string _sent = AsSent(secret);
    private readonly int _hash = string.GetHashCode(AsSent(secret).AsSpan());

    public string Name => name;

    public Role Role => role;

    public string Secret => secret;

    /// <summary>Of the setting that has its secret.</summary>
    public string? Key { get; private init; }

    /// <summary>From then on it admits nobody, UTC; null: it never ends.</summary>
    public DateTime? Until { get; private init; }

    /// <summary>The holder of a token that pays; null for all others.</summary>
    public KnownPayer? Payer { get; private init; }

    /// <summary>Whether nginx has checked a client's certificate, whose subject stands in place of a secret.</summary>
    public bool IsSubject { get; private init; }

    /// <summary>Whether it has a role. To pay is no step of the ladder: no other role includes it.</summary>
    public bool Has(Role needed) => needed == Role.Pay ? role == Role.Pay : role >= needed;

    /// <summary>A text as a header has it, where each byte of UTF-8 is one character (HostSetup).</summary>
    public static string AsSent(string text) => Encoding.Latin1.GetString(Encoding.UTF8.GetBytes(text));

    /// <summary>Whether a header's text is the secret, or the subject; the time tells nothing of either.</summary>
    /// <param name="hash">
    /// Of the text, by string.GetHashCode: each process hashes by a random key of its own, so nobody can tell which
    /// guess would have the secret's hash.
    /// </param>
    public bool IsSentAs(ReadOnlySpan<char> text, int hash) => hash == _hash
        && CryptographicOperations.FixedTimeEquals(MemoryMarshal.AsBytes(text), MemoryMarshal.AsBytes<char>(_sent));

    private bool IsSame(AdminToken other) =>
        (name, role, secret, Key, Until) == (other.Name, other.Role, other.Secret, other.Key, other.Until);

    /// <summary>The single token, called admin, which has every role, and the named ones.</summary>
    /// <param name="before">
    /// Those in force, which are kept where nothing of them has changed; null at the start. One that is not among them
    /// names its role, because the file of its role may follow that of its secret.
    /// </param>
    public static IReadOnlyList<AdminToken> Read(
        SettingsReader settings, ListenUrls urls, AdminToken[]? before = null)
    {
        var tokens = new List<AdminToken>();
        if (settings.Secret("Gateway:Admin:Token") is { } single)
            Add(new AdminToken("admin", Role.Purge, single) { Key = "Gateway:Admin:Token" });
        foreach (var label in settings.Names(NamedKey))
        {
            var key = $"{NamedKey}:{label}";
            // A blank file is one that somebody is writing, and would give a payer the default role.
            foreach (var part in (string[])["Role", "Name", "Subject", "Until"])
                settings.Secret($"{key}:{part}");
            var subject = settings.OptionalText($"{key}:Subject");
            var secret = subject ?? settings.Required($"{key}:Token");
            var isKnown = before is null || Array.Exists(before, token => token.Secret == secret);
            var role = isKnown ? settings.Choice($"{key}:Role", Role.Read)
                : settings.OptionalChoice<Role>($"{key}:Role") ?? throw SettingsReader.Wrong(
                    $"{key}:Role", "is required of a token that comes into force without a restart");
            var name = settings.OptionalText($"{key}:Name") ?? label;
            if (subject is not null && (role != Role.Pay || settings.OptionalText($"{key}:Token") is not null))
                throw SettingsReader.Wrong($"{key}:Subject", "needs the role Pay, and no Token beside it");
            Add(new AdminToken(name, role, secret)
            {
                Key = subject is null ? $"{key}:Token" : $"{key}:Subject",
                IsSubject = subject is not null,
                Until = settings.OptionalTime($"{key}:Until"),
                Payer = role == Role.Pay ? PayerOf(key, name) : null,
            });
        }

        settings.RefuseUnknown(NamedKey);
        return tokens.Count <= Max ? tokens : throw SettingsReader.Wrong(NamedKey, $"has more than {Max} tokens");

        void Add(AdminToken token)
        {
            if (!token.IsSubject && token.Secret.Length < LengthMin && urls.Open is { } open)
                throw SettingsReader.Wrong(
                    token.Key!, $"has fewer than {LengthMin} characters, and other hosts reach {open}");
            if (tokens.Exists(other => (other.Secret, other.IsSubject) == (token.Secret, token.IsSubject)))
                throw SettingsReader.Wrong(token.Key!, "has the value of another token");
            tokens.Add(before?.FirstOrDefault(token.IsSame) ?? token);
        }

        KnownPayer PayerOf(string key, string name) =>
            name.Length <= PayerLengthMax && name.All(one => char.IsAsciiLetterOrDigit(one) || one is '-' or '_' or '.')
                ? tokens.Concat(before ?? []).FirstOrDefault(
                    other => name.Equals(other.Payer?.Name, StringComparison.OrdinalIgnoreCase))?.Payer
                    ?? new KnownPayer(name.ToLowerInvariant())
                : throw SettingsReader.Wrong(
                    key, $"'{name}' is no name of a payer: 1 to {PayerLengthMax} letters, digits, or . - _");
    }
}

/// <summary>Somebody who pays; the number stands with each of the payments. Any thread.</summary>
internal sealed class KnownPayer(string name)
{
    /// <summary>The header of a refusal that names its payer for nginx's log; clients do not get it.</summary>
    public const string Header = "X-Payer";

    private long _accepted;
    private long _refused;

    public string Name => name;

    /// <summary>Its number in the ledger; 0 until it is registered. A ledger that was lost may give another.</summary>
    public int Number { get; set; }

    /// <summary>Payments that this instance has acknowledged.</summary>
    public long Accepted => Volatile.Read(ref _accepted);

    public long Refused => Volatile.Read(ref _refused);

    public void NoteAccepted() => Interlocked.Increment(ref _accepted);

    public void NoteRefused() => Interlocked.Increment(ref _refused);
}

/// <summary>
/// Pay allows payments and the look-up of own ones, and nothing of the others. Each other role includes those before:
/// Metrics allows GET /metrics, Read all calls that change nothing, Operate all calls but the purge, Purge all.
/// </summary>
internal enum Role
{
    Pay,
    Metrics,
    Read,
    Operate,
    Purge,
}
