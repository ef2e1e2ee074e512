namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A request, and whether each part of it is valid by the document, or one surely is not.</summary>
/// <param name="Target">Path and query, as they go over the wire.</param>
/// <param name="IsValid">All parts are; the call may refuse it only for what it knows.</param>
/// <param name="IsInvalid">A part is none by its schema.</param>
internal sealed record AbusiveRequest(
    string Method, string Target, IReadOnlyList<(string Name, string Value)> Headers, byte[]? Body,
    string? ContentType, bool IsValid, bool IsInvalid)
{
    public HttpRequestMessage ToMessage(Uri host)
    {
        // As it is: the client would tidy it up.
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
internal sealed class AbusiveRequests(OpenApiDocument document, Random random, string token)
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
        "9223372036854775807.4a7901b87d264d9daa194dc1c7cf60b3", new('a', 3_000), new('é', 600),
    ];

    // As they stand in a target: no text escapes to them.
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

    private static readonly string[] Numbers =
    [
        "0", "-0.01", "19.905", "1e2", "1e-3", "1e400", "-1e400", "999999999999.99", "1000000000000",
        "79228162514264337593543950336", "0.1e1", "01", "1.", "NaN", "19,90", "1E+2",
    ];

    private bool _isValid;
    private bool _isInvalid;

    /// <summary>One request at an operation, or near it.</summary>
    public AbusiveRequest Next(DocumentedOperation operation)
    {
        (_isValid, _isInvalid) = (true, false);
        var method = Chance(8) ? Pick(Methods) : operation.Method;
        var target = TargetOf(operation);
        var headers = HeadersOf(operation).ToList();
        // A TRACE has no body (RFC 9110): nginx has no problem for what it answers to one.
        var (body, type) = method == "TRACE" ? (null, null) : BodyOf(operation);
        return new AbusiveRequest(
            method, target, headers, body, type, _isValid && method == operation.Method,
            _isInvalid && method == operation.Method);
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
        // Together they may mean nothing, which no schema says.
        if (query.Count > 1)
            _isValid = false;
        if (Chance(5))
        {
            _isValid = false;
            query.Add(Escaped(Pick(Texts)) + "=" + Escaped(Pick(Texts)));
        }

        return query.Count == 0 ? path : $"{path}?{string.Join('&', query)}";
    }

    private string ValueOf(JsonObject parameter)
    {
        var schema = document.Follow(parameter["schema"]!);
        if (Chance(60))
            return Escaped(ValidOf(schema, parameter["example"]));
        _isValid = false; // Not every date has the form of one alone.
        if (Chance(15))
            return Pick(Escapes);

        var text = Chance(50) ? Pick(Texts) : Mutated(ValidOf(schema, parameter["example"]));
        // An empty segment is another path.
        _isInvalid |= text.Length > 0 && document.FaultsOf(schema, AsJson(schema, text)).Count > 0;
        return Escaped(text);
    }

    private IEnumerable<(string Name, string Value)> HeadersOf(DocumentedOperation operation)
    {
        if (!operation.NeedsToken || Chance(80))
            yield return ("X-Rinha-Token", token);
        else if (Chance(50))
            yield return ("Authorization", $"Bearer {token}");
        else
        {
            (_isValid, _isInvalid) = (false, true);
            if (Chance(50))
                yield return ("X-Rinha-Token", Printable(Pick(Texts)));
        }

        if (operation.Responses.ContainsKey(304) && Chance(50))
            yield return ("If-None-Match", Pick(["*", "\"", "W/\"x\"", "\"a\", \"b\"", "a", "é"]));
        if (Chance(15))
        {
            var value = Printable(Pick(Texts));
            _isValid &= value.Length < 500;
            yield return (Pick(Headers), value);
        }

        if (Chance(2))
        {
            _isValid = false;
            for (var at = 0; at < 120; at++)
                yield return ($"X-{at}", "1");
        }
    }

    private (byte[]? Body, string? Type) BodyOf(DocumentedOperation operation)
    {
        if (operation.Body is not { } content)
        {
            if (Chance(80))
                return (null, null);
            _isValid = false;
            return (Encoding.UTF8.GetBytes(Pick(Texts)), Pick(Types));
        }

        var body = PaymentBytes();
        var isValid = JudgementOf(content["schema"]!, body);
        _isValid &= isValid == true;
        _isInvalid |= isValid == false;
        if (body.Length > 4_096)
            (_isValid, _isInvalid) = (false, true);
        if (Chance(90))
            return (body, "application/json");
        _isValid = false;
        return (body, Pick(Types));
    }

    // A payment is the only JSON that a call takes.
    private byte[] PaymentBytes()
    {
        if (Chance(10))
            return Chance(50) ? Bytes(random.Next(200)) : Encoding.UTF8.GetBytes(Pick(Texts));

        var amount = (random.Next(1, 100_000) / 100m).ToString(CultureInfo.InvariantCulture);
        var members = new List<string>();
        if (Chance(95))
            members.Add(Member("correlationId", $"\"{new Guid(Bytes(16))}\""));
        if (Chance(95))
            members.Add(Member("amount", Chance(20) ? Pick(["0.01", "999999999999.99"]) : amount));
        if (Chance(10))
            members.Add(Member(Pick(["note", "__proto__", "$type", ""]), Any()));
        var text = "{" + string.Join(',', members.OrderBy(_ => random.Next())) + "}";
        var bytes = Encoding.UTF8.GetBytes(Chance(10) ? Mutated(text) : text);
        if (Chance(5) && bytes.Length > 0)
            bytes[random.Next(bytes.Length)] = (byte)random.Next(256);
        return bytes;
    }

    private string Member(string name, string value) =>
        $"\"{(Chance(3) ? name.ToUpperInvariant() : name)}\":{(Chance(80) ? value : Any())}";

    private string Any() => Pick(
    [
        Pick(Numbers), JsonValue.Create(Pick(Texts)).ToJsonString(), "null", "true", "{}", "[]", "[[[]]]",
        "\"\\ud800\"", "\"\\u0000\"", $"\"{new string('x', 5_000)}\"", new string('[', 70) + new string(']', 70),
        new string('9', 2_000),
    ]);

    private string ValidOf(JsonObject schema, JsonNode? example)
    {
        if (schema["enum"] is JsonArray values)
            return $"{values[random.Next(values.Count)]}";
        if ($"{schema["format"]}" == "uuid")
            return $"{new Guid(Bytes(16))}";
        return $"{schema["type"]}" == "integer"
            ? $"{random.Next((int)schema["minimum"]!, (int)schema["maximum"]! + 1)}"
            : $"{example}";
    }

    // Null where it cannot be told, as with a member that is given twice, or half a surrogate pair.
    private bool? JudgementOf(JsonNode schema, byte[] body)
    {
        try
        {
            JsonDocument.Parse(body).Dispose();
        }
        catch (JsonException)
        {
            return false;
        }

        try
        {
            var node = JsonNode.Parse(body);
            // An object finds a member that is given twice when it is counted.
            _ = (node as JsonObject)?.Count;
            return document.FaultsOf(schema, node).Count == 0;
        }
        catch (Exception untold) when (untold is ArgumentException or InvalidOperationException or JsonException)
        {
            return null;
        }
    }

    private static JsonNode AsJson(JsonObject schema, string text) => $"{schema["type"]}" == "integer"
        && long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : text;

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
