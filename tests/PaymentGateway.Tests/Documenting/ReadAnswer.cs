using System.Text.Json;
using System.Text.Json.Nodes;

namespace PaymentGateway.Tests.Documenting;

/// <summary>An answer over HTTP, read to its end.</summary>
internal sealed record ReadAnswer(
    int Status, string? MediaType, string Body, IReadOnlyDictionary<string, string> Headers)
{
    public bool IsProblem => MediaType == "application/problem+json";

    public bool IsJson => IsProblem || MediaType == "application/json";

    public static async Task<ReadAnswer> OfAsync(HttpClient http, HttpRequestMessage request)
    {
        using var answer = await http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
        var mediaType = answer.Content.Headers.ContentType?.MediaType;
        var headers = answer.Headers.Concat(answer.Content.Headers).ToDictionary(
            header => header.Key, header => string.Join(", ", header.Value), StringComparer.OrdinalIgnoreCase);
        return new ReadAnswer(
            (int)answer.StatusCode, mediaType,
            // Events have no end.
            mediaType == "text/event-stream" ? "" : await answer.Content.ReadAsStringAsync(), headers);
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

    public override string ToString() => $"{Status} {MediaType} {(Body.Length > 500 ? Body[..500] : Body)}";
}
