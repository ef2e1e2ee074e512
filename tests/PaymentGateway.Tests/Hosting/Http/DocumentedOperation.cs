namespace PaymentGateway.Tests.Hosting.Http;

/// <summary>One operation of openapi.json, with its references followed.</summary>
internal sealed class DocumentedOperation
{
    private const string Json = "application/json";

    private readonly OpenApiDocument _document;
    private readonly string[] _segments;

    public DocumentedOperation(OpenApiDocument document, string method, string path, JsonObject operation)
    {
        (_document, Method, Path, _segments) = (document, method, path, path.Split('/'));
        Id = operation["operationId"]!.GetValue<string>();
        NeedsToken = operation["security"]!.AsArray().Count > 0;
        Parameters = (operation["parameters"]?.AsArray() ?? []).Select(one => document.Follow(one!)).ToList();
        Responses = operation["responses"]!.AsObject().ToDictionary(
            response => int.Parse(response.Key, CultureInfo.InvariantCulture),
            response => document.Follow(response.Value!));
        Body = operation["requestBody"]?["content"]?[Json]?.AsObject();
    }

    public string Id { get; }

    public string Method { get; }

    public string Path { get; }

    public bool NeedsToken { get; }

    public IReadOnlyList<JsonObject> Parameters { get; }

    public IReadOnlyDictionary<int, JsonObject> Responses { get; }

    /// <summary>The JSON that it takes: schema and examples; null where it takes none.</summary>
    public JsonObject? Body { get; }

    public IEnumerable<(string Name, JsonNode? Value)> BodyExamples => Body is null ? [] : ExamplesOf(Body);

    /// <summary>Whether a path, without its query, is one of this operation.</summary>
    public bool Has(string path)
    {
        var segments = path.Split('/');
        return segments.Length == _segments.Length && _segments.Zip(segments).All(
            pair => pair.First.StartsWith('{') ? pair.Second.Length > 0 : pair.First == pair.Second);
    }

    /// <summary>The path with the examples of its parameters, in the query too.</summary>
    public string ExamplePath(Func<string, bool> takesQuery)
    {
        var path = Path;
        var query = new List<string>();
        foreach (var parameter in Parameters)
        {
            var name = parameter["name"]!.GetValue<string>();
            var value = Uri.EscapeDataString($"{parameter["example"]}");
            if (parameter["in"]!.GetValue<string>() == "path")
                path = path.Replace($"{{{name}}}", value, StringComparison.Ordinal);
            else if (parameter["in"]!.GetValue<string>() == "query" && takesQuery(name))
                query.Add($"{name}={value}");
        }

        return query.Count == 0 ? path : $"{path}?{string.Join('&', query)}";
    }

    /// <summary>What is not as documented in an answer; none when it is as it should be.</summary>
    public List<string> FaultsOf(ReadAnswer answer)
    {
        if (!Responses.TryGetValue(answer.Status, out var response))
            return [$"{answer.Status} is not documented"];

        var faults = HeaderFaults(response, answer).ToList();
        if (response["content"]?.AsObject() is not { } contents)
            faults.AddRange(answer.Body.Length == 0 ? [] : ["it has a body, and none is documented"]);
        else if (answer.MediaType is null || contents[answer.MediaType] is not { } content)
            faults.Add($"its media type is '{answer.MediaType}'");
        else
            faults.AddRange(_document.FaultsOf(
                content["schema"]!, answer.IsJson ? answer.Json() : JsonValue.Create(answer.Body)));
        if (answer.IsProblem && answer.Json()["status"]!.GetValue<int>() != answer.Status)
            faults.Add("the status in the body is another one");
        return faults;
    }

    public override string ToString() => $"{Method} {Path}";

    public static IEnumerable<(string Name, JsonNode? Value)> ExamplesOf(JsonObject content)
    {
        if (content.TryGetPropertyValue("example", out var single))
            yield return ("example", single);
        foreach (var (name, example) in content["examples"]?.AsObject() ?? [])
            yield return (name, example!["value"]);
    }

    private IEnumerable<string> HeaderFaults(JsonObject response, ReadAnswer answer)
    {
        foreach (var (name, reference) in response["headers"]?.AsObject() ?? [])
        {
            var header = _document.Follow(reference!);
            if (answer.Headers.GetValueOrDefault(name) is not { } text)
            {
                if (header["required"]?.GetValue<bool>() == true)
                    yield return $"{name} is missing";
                continue;
            }

            JsonNode value = header["schema"]!["type"]!.GetValue<string>() == "integer"
                && long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
                ? number
                : text;
            foreach (var fault in _document.FaultsOf(header["schema"]!, value))
                yield return $"{name}: {fault}";
        }
    }
}
