namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A request that may be wrong in any part.</summary>
/// <param name="Target">Path and query, as they go over the wire.</param>
internal sealed record AbusiveRequest(
    string Method, string Target, IReadOnlyList<(string Name, string Value)> Headers, byte[]? Body,
    string? ContentType)
{
    public HttpRequestMessage ToMessage(Uri host)
    {
        // Otherwise the client would tidy the target up.
        var uri = new Uri($"{host.Scheme}://{host.Authority}{Target}",
            new UriCreationOptions { DangerousDisablePathAndQueryCanonicalization = true });
        var message = new HttpRequestMessage(new HttpMethod(Method), uri);
        foreach (var (name, value) in Headers)
            message.Headers.TryAddWithoutValidation(name, value);
        if (Body is null)
            return message;

        message.Content = new ByteArrayContent(Body);
        if (ContentType is not null)
            message.Content.Headers.TryAddWithoutValidation("Content-Type", ContentType);
        return message;
    }

    public override string ToString()
    {
        var body = Body is null ? "" : $" {ContentType} {Encoding.Latin1.GetString(Body)}";
        var text = $"{Method} {Target} {string.Join(' ', Headers)}{body}";
        return string.Concat(text.Take(700).Select(
            letter => letter is >= ' ' and <= '~' ? $"{letter}" : $"\\x{(int)letter:x2}"));
    }
}

/// <summary>Makes requests out of the document: valid, nearly valid and garbage. One thread at a time.</summary>
internal sealed class AbusiveRequests(Random random, string token)
{
    private static readonly string[] Methods =
        ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"];

    private static readonly string[] Texts =
    [
        "", " ", "\0", "a\0b", "\u0001\u001f", "é", "😀", "' OR 1=1 --", "../../etc/passwd", "null", "NaN", "-1", "0",
        "1e400", "99999999999999999999", "1.0", "+1", " 1", "0x10", "{}", "[]", "true", "\r\nX-Injected: 1", "${7*7}",
        "%00", "%zz", "2025-13-01", "2025-07-15T25:00:00Z", "9999-12-31T23:59:59Z", "0000-01-01",
        "2025-07-15 12:00:00", "4A7901B8-7D26-4D9D-AA19-4DC1C7CF60B3", "{4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3}",
        "4a7901b87d264d9daa194dc1c7cf60b3", "00000000-0000-0000-0000-000000000000", "settled", "SETTLED",
        "9223372036854775807.4a7901b87d264d9daa194dc1c7cf60b3", new('a', 3_000), new('é', 600), new('[', 70),
        new('9', 5_000),
    ];

    // Escapes of a target that no text escapes to.
    private static readonly string[] Escapes =
        ["%ff%fe", "%ed%a0%80", "%c3", "%E0%80%AF", "%2F", "%252F", "a%20b", "a+b"];

    private static readonly string?[] Types =
    [
        null, "text/plain", "application/xml", "application/jsonx", "application/json; charset=utf-16",
        "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json;", "APPLICATION/JSON",
    ];

    private static readonly string[] Headers =
    [
        "Accept", "Accept-Encoding", "traceparent", "Cookie", "Range", "X-Forwarded-For", "If-Match", "Accept-Language",
        "X-HTTP-Method-Override", "X-Forwarded-Proto", "Priority",
    ];

    public AbusiveRequest Next(DocumentedOperation operation)
    {
        var method = Chance(8) ? Pick(Methods) : operation.Method;
        var target = TargetOf(operation);
        var headers = HeadersOf(operation).ToList();
        // A TRACE has no body (RFC 9110): nginx has no problem for what it answers to one.
        var (body, type) = method == "TRACE" ? (null, null) : BodyOf(operation);
        return new AbusiveRequest(method, target, headers, body, type);
    }

    private string TargetOf(DocumentedOperation operation)
    {
        var path = operation.Path;
        var query = new List<string>();
        foreach (var parameter in operation.Parameters)
        {
            var name = $"{parameter["name"]}";
            if ($"{parameter["in"]}" == "path")
                path = path.Replace($"{{{name}}}", ValueOf(parameter), StringComparison.Ordinal);
            else if ($"{parameter["in"]}" == "query" && Chance(35))
                query.Add($"{name}={ValueOf(parameter)}");
        }

        if (Chance(5) && query.Count > 0)
            query.Add(query[0]);
        if (Chance(5))
            query.Add(Escaped(Pick(Texts)) + "=" + Escaped(Pick(Texts)));
        return query.Count == 0 ? path : $"{path}?{string.Join('&', query)}";
    }

    private string ValueOf(JsonObject parameter) => random.Next(20) switch
    {
        < 12 => Escaped(ExampleOf(parameter)),
        < 15 => Escaped(Pick(Texts)),
        < 18 => Escaped(Mutated(ExampleOf(parameter))),
        _ => Pick(Escapes),
    };

    private string ExampleOf(JsonObject parameter) =>
        OpenApiDocument.Present.Follow(parameter["schema"]!)["enum"] is JsonArray values
            ? $"{values[random.Next(values.Count)]}"
            : $"{parameter["example"]}";

    private IEnumerable<(string Name, string Value)> HeadersOf(DocumentedOperation operation)
    {
        if (!operation.NeedsToken || Chance(80))
            yield return ("X-Rinha-Token", token);
        else if (Chance(50))
            yield return ("Authorization", $"Bearer {token}");
        else if (Chance(50))
            yield return ("X-Rinha-Token", Printable(Pick(Texts)));

        if (operation.Responses.ContainsKey(304) && Chance(50))
            yield return ("If-None-Match", Pick(["*", "\"", "W/\"x\"", "\"a\", \"b\"", "a", "é"]));
        if (Chance(15))
            yield return (Pick(Headers), Printable(Pick(Texts)));
        for (var at = Chance(2) ? 120 : 0; at > 0; at--)
            yield return ($"X-{at}", "1");
    }

    // A payment is the only JSON that a call takes. PaymentRequestFuzzTests have more bodies.
    private (byte[]? Body, string? Type) BodyOf(DocumentedOperation operation)
    {
        if (operation.Body is null)
            return Chance(80) ? (null, null) : (Encoding.UTF8.GetBytes(Pick(Texts)), Pick(Types));

        var amount = $"{random.Next(1, 100_000)}.{Any()}";
        var payment = $$"""{"correlationId":"{{new Guid(Bytes(16))}}","amount":{{amount}}}""";
        var body = random.Next(10) switch
        {
            < 7 => Encoding.UTF8.GetBytes(payment),
            7 => Encoding.UTF8.GetBytes(Mutated(payment)),
            8 => Encoding.UTF8.GetBytes(Pick(Texts)),
            _ => Bytes(random.Next(200)),
        };
        return (body, Chance(90) ? "application/json" : Pick(Types));
    }

    // The end of an amount, and perhaps a member that no payment has.
    private string Any() => random.Next(100) switch
    {
        < 85 => "9",
        < 90 => "90,\"note\":" + JsonValue.Create(Pick(Texts)).ToJsonString(),
        < 95 => Pick(["905", "1e400", "", "0e1", "9,\"amount\":1"]),
        _ => $"90,\"note\":\"{new string('x', 5_000)}\"",
    };

    private string Mutated(string text)
    {
        var at = random.Next(text.Length + 1);
        return random.Next(4) switch
        {
            0 => text.Insert(at, Pick(["0", "a", "-", "\0", "é", "\"", "}", ",", "T", "%", "&", "\n"])),
            1 => text[..at],
            2 => at < text.Length ? text.Remove(at, 1) : text + text,
            _ => text + text,
        };
    }

    // No dot alone: it would name another path.
    private static string Escaped(string text) =>
        text is "." or ".." ? "%2E%00" : Uri.EscapeDataString(text);

    private static string Printable(string text) =>
        string.Concat(text.Where(letter => letter is >= ' ' and not '\u007f' and <= '\u00ff')).Trim();

    private byte[] Bytes(int count)
    {
        var bytes = new byte[count];
        random.NextBytes(bytes);
        return bytes;
    }

    private bool Chance(int percent) => random.Next(100) < percent;

    private T Pick<T>(T[] choices) => choices[random.Next(choices.Length)];
}
