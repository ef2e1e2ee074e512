using System.Security.Cryptography;
using PaymentGateway.Hosting.Telemetry;

namespace PaymentGateway.Operator.Admin;

/// <summary>
/// Finds whose token a request has. Wrong tokens are logged and limited. Where none is set, everybody is
/// <see cref="AdminToken.Anyone"/>. Any thread.
/// </summary>
internal sealed partial class AdminTokens(GatewayOptions options, OperatorLog operatorLog, TimeProvider clock)
{
    private const string Header = "X-Rinha-Token";

    // nginx replaces what a client sends by the subject of the certificate that it has checked, or by nothing.
    private const string SubjectHeader = "X-Client-Subject";

    // Prometheus can send no other header.
    public const string Bearer = "Bearer ";

    private readonly WrongTokens _wrong = new(clock);
    private readonly ILogger _log = operatorLog.Lines;

    // Replaced as a whole, so that a request sees one list without a lock.
    private volatile TokenSet _now = new(options.Operators.Tokens);

    public AdminToken[] All => _now.All;

    public PayerReading[] ReadPayers() => [.. All.Select(token => token.Payer).OfType<KnownPayer>().Distinct()
        .Select(static payer => new PayerReading(payer.Name, payer.Accepted, payer.Refused))];

    public bool AreNeeded => _now.All.Length > 0;

    /// <summary>Whether a payment needs a token, because one has the role Pay.</summary>
    public bool PayersAreNeeded => _now.HasPayers;

    /// <summary>Puts other tokens into force, all at once.</summary>
    public void Replace(AdminToken[] all) => _now = new TokenSet(all);

    /// <summary>Whether a text is a token, such as in a query, where it counts for nothing.</summary>
    public bool Knows(string text) => _now.Find(AdminToken.AsSent(text), isSubject: false) is not null;

    /// <summary>Counts a wrong token.</summary>
    /// <returns>The token in a request's headers; null when it is missing or wrong.</returns>
    public AdminToken? Authenticate(HttpContext context)
    {
        if (!AreNeeded)
            return AdminToken.Anyone;

        var given = GivenIn(context.Request.Headers);
        // Only a Unix socket has no address: by TCP others than nginx could send this header.
        var isSubject = given.IsEmpty && _now.HasSubjects && context.Connection.LocalIpAddress is null;
        if (isSubject)
            given = context.Request.Headers[SubjectHeader].ToString();
        return Authenticate(context, given, isSubject);
    }

    /// <summary>Compares in constant time with all tokens.</summary>
    /// <param name="given">As a header has it.</param>
    /// <returns>
    /// Null when it is wrong. A right one passes however many wrong ones came from its address, because clients share
    /// addresses: behind one proxy all do.
    /// </returns>
    public AdminToken? Authenticate(HttpContext context, ReadOnlySpan<char> given, bool isSubject = false)
    {
        if (!AreNeeded)
            return AdminToken.Anyone;

        if (given.IsEmpty)
            return null;

        var found = _now.Find(given, isSubject);
        if (found is not null && IsValid(found))
            return found;

        if (found?.Payer is { } payer)
        {
            payer.NoteRefused();
            context.Response.Headers[KnownPayer.Header] = payer.Name;
        }

        var address = OperatorLog.AddressOf(context);
        var count = _wrong.Add(address, string.GetHashCode(given));
        // Two lines a minute and address at most; otherwise a guesser could rotate the log away.
        if (count > 0 && found is not null)
            Log.Expired(_log, found.Name, address, OperatorLog.ActionOf(context));
        else if (count == 1)
            Log.Wrong(_log, address, OperatorLog.ActionOf(context));
        if (count == WrongTokens.Max)
            Log.Paused(_log, count, address);
        return null;
    }

    /// <summary>Signs a text with a token's secret.</summary>
    public static string Sign(AdminToken token, string text) => Convert.ToHexString(
        HMACSHA256.HashData(Encoding.UTF8.GetBytes(token.Secret), Encoding.UTF8.GetBytes(text)));

    /// <summary>The token that a text was signed by; null when there is none.</summary>
    public AdminToken? SignerOf(string text, string signature) => Array.Find(
        _now.All, token => token.Has(Role.Read) && IsValid(token) && CryptographicOperations.FixedTimeEquals(
            Encoding.UTF8.GetBytes(signature), Encoding.UTF8.GetBytes(Sign(token, text))));

    /// <summary>Answers 401, or 429 after too many wrong tokens from the same address.</summary>
    public Task RefuseAsync(HttpContext context)
    {
        var pause = _wrong.PauseOf(OperatorLog.AddressOf(context));
        if (pause > TimeSpan.Zero)
            return ProblemAnswer.WriteAsync(
                context, Problems.TooManyAttempts,
                $"{WrongTokens.Max} wrong tokens came from this address within a minute.", Header,
                (int)Math.Ceiling(pause.TotalSeconds));

        // Browsers show no sign-in form of their own for Bearer.
        context.Response.Headers.WWWAuthenticate = Bearer.TrimEnd();
        return ProblemAnswer.WriteAsync(context, Problems.TokenNeeded, $"{Header} is missing or wrong.", Header);
    }

    private bool IsValid(AdminToken token) => token.Until is not { } until || clock.GetUtcNow().UtcDateTime < until;

    private static ReadOnlySpan<char> GivenIn(IHeaderDictionary headers) =>
        headers.Authorization.ToString() is var given && given.StartsWith(Bearer, StringComparison.OrdinalIgnoreCase)
            ? given.AsSpan(Bearer.Length)
            : headers[Header].ToString();

    private static partial class Log
    {
        [LoggerMessage(8, LogLevel.Warning, "A wrong token from {Address} for {Action}")]
        public static partial void Wrong(ILogger log, string address, string action);

        [LoggerMessage(14, LogLevel.Warning, "The expired token of {Name} from {Address} for {Action}")]
        public static partial void Expired(ILogger log, string name, string address, string action);

        [LoggerMessage(9, LogLevel.Warning,
            "{Count} wrong tokens from {Address} within a minute: until it is over, wrong ones from there get 429")]
        public static partial void Paused(ILogger log, int count, string address);
    }
}

/// <summary>The tokens that are in force together.</summary>
internal sealed class TokenSet(IEnumerable<AdminToken> all)
{
    public AdminToken[] All { get; } = [.. all];

    public bool HasSubjects { get; } = all.Any(static token => token.IsSubject);

    public bool HasPayers { get; } = all.Any(static token => token.Payer is not null);

    /// <summary>Compares with every token, so that the time tells nothing of the one that is found.</summary>
    public AdminToken? Find(ReadOnlySpan<char> given, bool isSubject)
    {
        // FixedTimeEquals with each of 256 tokens took 12 % of a payment's CPU (make ab, 2026-11-28).
        var hash = string.GetHashCode(given);
        AdminToken? found = null;
        foreach (var token in All)
            if (token.IsSubject == isSubject && token.IsSentAs(given, hash))
                found = token;
        return found;
    }
}

/// <summary>
/// Counts the different wrong tokens of a minute, by address: a client that repeats an old token must not lock out
/// others at its address. Any thread.
/// </summary>
internal sealed class WrongTokens(TimeProvider clock)
{
    public const int Max = 100;

    // Bounds the memory. Counting by address does not stop a client with more addresses than these.
    private const int AddressesMax = 256;

    private static readonly TimeSpan Window = TimeSpan.FromMinutes(1);

    private readonly Dictionary<string, Counted> _counts = [];

    /// <summary>How long wrong tokens from an address are answered with 429; zero below the limit.</summary>
    public TimeSpan PauseOf(string address)
    {
        lock (_counts)
            return Present(address) is { Hashes.Count: >= Max } full
                ? Window - clock.GetElapsedTime(full.Since)
                : TimeSpan.Zero;
    }

    /// <returns>
    /// The number of different ones in this minute; 0 for one that was counted before, or comes after the limit.
    /// </returns>
    public int Add(string address, int hash)
    {
        lock (_counts)
        {
            var counted = Present(address);
            if (counted is null)
            {
                if (_counts.Count == AddressesMax)
                    _counts.Clear();
                _counts[address] = counted = new Counted(clock.GetTimestamp(), []);
            }

            return counted.Hashes.Count < Max && counted.Hashes.Add(hash)
                ? counted.Hashes.Count
                : 0;
        }
    }

    private Counted? Present(string address) =>
        _counts.TryGetValue(address, out var counted) && clock.GetElapsedTime(counted.Since) < Window ? counted : null;

    private sealed record Counted(long Since, HashSet<int> Hashes);
}
