namespace PaymentGateway.Tests.Hosting.Http;

/// <summary>An answer over HTTP, read to its end.</summary>
internal sealed record ReadAnswer(
    int Status, string? MediaType, string Body, IReadOnlyDictionary<string, string> Headers)
{
    public bool IsProblem => MediaType == "application/problem+json";

    public bool IsJson => IsProblem || MediaType == "application/json";

    public static async Task<ReadAnswer> OfAsync(HttpClient http, HttpRequestMessage request)
    {
        using var answer = await http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
        return await OfAsync(answer);
    }

    public static async Task<ReadAnswer> OfAsync(HttpResponseMessage answer)
    {
        var mediaType = answer.Content.Headers.ContentType?.MediaType;
        var headers = answer.Headers.Concat(answer.Content.Headers).ToDictionary(
            header => header.Key, header => string.Join(", ", header.Value), StringComparer.OrdinalIgnoreCase);
        return new ReadAnswer(
            (int)answer.StatusCode, mediaType,
            // Events have no end.
            mediaType == "text/event-stream" ? "" : await answer.Content.ReadAsStringAsync(), headers);
    }

    /// <summary>An answer as it came over a raw connection, which was closed after it.</summary>
    public static ReadAnswer OfRaw(string text)
    {
        var (head, body) = Cut(text, "\r\n\r\n");
        var lines = head.Split("\r\n");
        var headers = lines.Skip(1).Select(line => Cut(line, ": ")).ToDictionary(
            header => header.Before, header => header.After, StringComparer.OrdinalIgnoreCase);
        if (headers.GetValueOrDefault("Transfer-Encoding") == "chunked")
            body = string.Concat(Chunks(body));
        return new ReadAnswer(
            int.Parse(lines[0].Split(' ')[1], null), headers.GetValueOrDefault("Content-Type")?.Split(';')[0], body,
            headers);
    }

    /// <summary>The body; a text where it is no JSON.</summary>
    public JsonNode Json()
    {
        try
        {
            return JsonNode.Parse(Body)!;
        }
        catch (JsonException)
        {
            return JsonValue.Create($"no JSON: {Body}");
        }
    }

    private static IEnumerable<string> Chunks(string body)
    {
        while (Cut(body, "\r\n") is var (size, rest) && Convert.ToInt32(size, 16) is > 0 and var length)
        {
            yield return rest[..length];
            body = rest[(length + "\r\n".Length)..];
        }
    }

    private static (string Before, string After) Cut(string text, string at) =>
        text.IndexOf(at, StringComparison.Ordinal) is >= 0 and var found
            ? (text[..found], text[(found + at.Length)..])
            : (text, "");

    public override string ToString() => $"{Status} {MediaType} {(Body.Length > 500 ? Body[..500] : Body)}";
}
