namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The answer of a server to a request whose end can be read in two ways.</summary>
public enum Verdict
{
    Refused, // An error, and the connection is closed: nothing behind it is read.
    OneAndClosed, // One answer, and the connection is closed: nothing behind it is read.
    One, // One answer, and what stands behind its end is read as the next request.
}

/// <summary>A request that two servers may read differently.</summary>
/// <param name="Write">The bytes, given the body that is meant and a whole request hidden behind it.</param>
public sealed record SmugglingAttempt(
    string Name, Func<string, string, string> Write, Verdict ByNginx, Verdict ByInstance);

/// <summary>The attempts of request smuggling: two lengths, odd codings, odd line ends, odd header lines.</summary>
public static class SmugglingAttempts
{
    private const Verdict No = Verdict.Refused;
    private const Verdict One = Verdict.One;
    private const Verdict Shut = Verdict.OneAndClosed;
    private const string Chunks = "Transfer-Encoding: chunked";

    // Kestrel takes what RFC 9112 lets a server take, where chunked wins over a length; nginx refuses it.
    public static IReadOnlyList<SmugglingAttempt> All { get; } =
    [
        Framed("length, then chunked", "Content-Length: {both}", Chunks, No, Shut),
        Framed("chunked, then length", Chunks, "Content-Length: 4", No, Shut),
        Framed("two lengths", "Content-Length: {body}", "Content-Length: {both}", No, No),
        Framed("two lengths, the long one first", "Content-Length: {both}", "Content-Length: {body}", No, No),
        Framed("one length twice", "Content-Length: {body}", "Content-Length: {body}", No, No),
        Framed("a list of lengths", "Content-Length: {body}, {both}", null, No, No),
        Framed("a signed length", "Content-Length: +{body}", null, No, One),
        Framed("a negative length", "Content-Length: -{body}", null, No, No),
        Framed("a length with a space", "Content-Length: {body} {both}", null, No, No),
        Framed("a length past 64 bits", "Content-Length: 18446744073709551616", null, No, No),
        Framed("a hexadecimal length", "Content-Length: 0x{body}", null, No, No),
        Framed("an empty length", "Content-Length:", null, No, No),
        Framed("a space before the colon of a length", "Content-Length : {body}", null, No, No),
        Framed("a folded length", "Content-Length:\r\n {body}", null, No, No),

        Chunked("a space before the colon", "Transfer-Encoding : chunked", No, No),
        Chunked("an unknown coding", "Transfer-Encoding: xchunked", No, No),
        Chunked("a coding after chunked", "Transfer-Encoding: chunked, identity", No, No),
        Chunked("a coding before chunked", "Transfer-Encoding: identity, chunked", No, One),
        Chunked("two codings, chunked first", $"{Chunks}\r\nTransfer-Encoding: identity", No, No),
        Chunked("two codings, chunked last", $"Transfer-Encoding: identity\r\n{Chunks}", No, One),
        Chunked("chunked twice", $"{Chunks}\r\n{Chunks}", No, One),
        Chunked("a tab before the coding", "Transfer-Encoding:\tchunked", No, One),
        Chunked("a vertical tab before the coding", "Transfer-Encoding: \vchunked", No, No),
        Chunked("a quoted coding", "Transfer-Encoding: \"chunked\"", No, No),
        Chunked("a folded coding", "Transfer-Encoding:\r\n chunked", No, No),
        Chunked("a coding in a folded line", $"X: a\r\n {Chunks}", No, No),
        Chunked("a space before the name", $" {Chunks}", No, No),
        Chunked("a coding behind a bare CR", $"X: a\r{Chunks}", No, No),
        Chunked("a coding behind a bare LF", $"X: a\n{Chunks}", One, No),
        Framed("an underscore in the name", "Transfer_Encoding: chunked", "Content-Length: {body}", One, One),

        Framed("a folded line", "X: a\r\n b", "Content-Length: {body}", No, No),
        Framed("a NUL in a value", "X: a\0b", "Content-Length: {body}", No, No),
        Framed("a NUL in a name", "X\0: a", "Content-Length: {body}", No, No),
        Framed("a second host", "Host: other", "Content-Length: {body}", No, No),
        Framed("a line without a colon", "Xyz", "Content-Length: {body}", One, No),
        Framed("a bare LF in the header", "X: a\nY: b", "Content-Length: {body}", One, No),
        new("bare LF only", (body, hidden) =>
            Framed(body, "Content-Length: {body}", null).Replace("\r\n", "\n", StringComparison.Ordinal), One, No),
        new("a bare LF ends the header", (body, hidden) =>
            Framed(body, "Content-Length: {body}", null).Replace("\r\n\r\n", "\r\n\n", StringComparison.Ordinal),
            One, No),

        Sized("a bare LF after the size", "{size}\n{body}\r\n0\r\n\r\n", One, No),
        Sized("a bare LF after the chunk", "{size}\r\n{body}\n0\r\n\r\n", One, No),
        Sized("bare LF in all of the chunks", "{size}\n{body}\n0\n\n", One, No),
        Sized("a bare LF in a chunk's extension", "{size};a\nb\r\n{body}\r\n0\r\n\r\n", No, No),
        Sized("a negative size", "-{size}\r\n{body}\r\n0\r\n\r\n", No, No),
        Sized("a size with a prefix", "0x{size}\r\n{body}\r\n0\r\n\r\n", No, No),
        // The instance says 500 to this one, and closes: its chunk reader calls it a broken connection.
        Sized("a size past 64 bits", "1000000000000000{size}\r\n{body}\r\n0\r\n\r\n", No, No),
        new("chunks in HTTP/1.0", (body, hidden) => Framed(
            $"{body.Length:x}\r\n{body}\r\n0\r\n\r\n", Chunks, null).Replace("HTTP/1.1", "HTTP/1.0",
            StringComparison.Ordinal), No, Shut),
        new("a request as the body of a GET", (body, hidden) =>
            $"GET /healthz HTTP/1.1\r\nHost: gateway\r\nContent-Length: {hidden.Length}\r\n\r\n{hidden}", One, One),
        new("a request as the chunk of a GET", (body, hidden) =>
            $"GET /healthz HTTP/1.1\r\nHost: gateway\r\n{Chunks}\r\n\r\n{hidden.Length:x}\r\n{hidden}\r\n0\r\n\r\n",
            One, One),
    ];

    public static string Request(string body) => Framed(body, "Content-Length: {body}", null);

    // Two ends: behind the body, or behind the hidden request too. Chunked where a header line says so.
    private static SmugglingAttempt Framed(
        string name, string first, string? second, Verdict nginx, Verdict instance) =>
        new(name, (body, hidden) =>
        {
            var isChunked = first == Chunks || second == Chunks;
            var meant = isChunked ? $"{body.Length:x}\r\n{body}\r\n0\r\n\r\n" : body;
            var length = $"{meant.Length + hidden.Length}";
            var request = Framed(
                meant, first.Replace("{both}", length, StringComparison.Ordinal),
                second?.Replace("{both}", length, StringComparison.Ordinal));
            // A request with one end only would have another ordinary request behind it.
            return first.Contains("{both}", StringComparison.Ordinal)
                || second?.Contains("{both}", StringComparison.Ordinal) == true
                || isChunked
                ? request + hidden
                : request;
        }, nginx, instance);

    private static SmugglingAttempt Chunked(string name, string lines, Verdict nginx, Verdict instance) =>
        new(name, (body, hidden) => Framed($"{body.Length:x}\r\n{body}\r\n0\r\n\r\n", lines, null), nginx, instance);

    private static SmugglingAttempt Sized(string name, string chunks, Verdict nginx, Verdict instance) =>
        new(name, (body, hidden) => Framed(
            chunks.Replace("{size}", $"{body.Length:x}", StringComparison.Ordinal)
                .Replace("{body}", body, StringComparison.Ordinal), Chunks, null), nginx, instance);

    private static string Framed(string meant, string first, string? second)
    {
        var lines = second is null ? first : $"{first}\r\n{second}";
        return "POST /payments HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
            + $"{lines.Replace("{body}", $"{meant.Length}", StringComparison.Ordinal)}\r\n\r\n{meant}";
    }
}
