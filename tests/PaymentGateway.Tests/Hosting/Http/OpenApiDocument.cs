using Json.Schema;

namespace PaymentGateway.Tests.Hosting.Http;

/// <summary>openapi.json as the tests read it: its operations, and its schemas to hold values against.</summary>
internal sealed class OpenApiDocument
{
    private static readonly HashSet<string> Methods = ["get", "put", "post", "delete", "options", "head", "patch"];

    private static readonly EvaluationOptions AllFaults = new()
    {
        OutputFormat = OutputFormat.List,
        RequireFormatValidation = true,
    };

    private readonly ConcurrentDictionary<JsonNode, JsonSchema> _built = new();

    private OpenApiDocument(JsonObject root)
    {
        Root = root;
        Operations = root["paths"]!.AsObject().SelectMany(path => path.Value!.AsObject()
            .Where(operation => Methods.Contains(operation.Key))
            .Select(operation => new DocumentedOperation(
                this, operation.Key.ToUpperInvariant(), path.Key, operation.Value!.AsObject()))).ToList();
    }

    public static string File { get; } =
        Repository.PathOf("src", "PaymentGateway", "Hosting", "Http", "openapi.json");

    public static OpenApiDocument Present { get; } =
        new(JsonNode.Parse(System.IO.File.ReadAllText(File))!.AsObject());

    public JsonObject Root { get; }

    public IReadOnlyList<DocumentedOperation> Operations { get; }

    public JsonObject Schemas => Root["components"]!["schemas"]!.AsObject();

    public IEnumerable<string> ProblemTypes => Schemas.Select(schema => schema.Value!["properties"]?["type"]?["const"])
        .OfType<JsonValue>().Select(type => $"{type}");

    public DocumentedOperation this[string id] => Operations.Single(operation => operation.Id == id);

    /// <summary>What a request with this method and path is by the document; null where it is none.</summary>
    public DocumentedOperation? Find(string method, string path) => Operations
        .Where(operation => operation.Method == method && operation.Has(path.TrimEnd('/')))
        // As routing has it: the path without a parameter first.
        .MinBy(operation => operation.Path.Contains('{', StringComparison.Ordinal));

    /// <summary>The object itself, where a reference stands for it.</summary>
    public JsonObject Follow(JsonNode node)
    {
        var at = node.AsObject();
        while (at["$ref"] is { } reference)
            at = reference.GetValue<string>()[2..].Split('/')
                .Aggregate((JsonNode)Root, (from, name) => from[name.Replace("~1", "/", StringComparison.Ordinal)]!)
                .AsObject();
        return at;
    }

    /// <summary>What is wrong with a value by a schema of the document; none when it is valid.</summary>
    public List<string> FaultsOf(JsonNode schema, JsonNode? value)
    {
        var found = _built.GetOrAdd(schema, Build).Evaluate(JsonSerializer.SerializeToElement(value), AllFaults);
        return found.IsValid
            ? []
            : (found.Details ?? [])
                .SelectMany(part => part.Errors ?? [], (part, error) => $"{part.InstanceLocation}: {error.Value}")
                .DefaultIfEmpty("It is invalid.").ToList();
    }

    // The library's decimals are exact; its patterns end before a last line feed, which those of ECMAScript do not.
    private JsonSchema Build(JsonNode schema)
    {
        var whole = new JsonObject { ["$defs"] = Schemas.DeepClone(), ["allOf"] = new JsonArray(schema.DeepClone()) };
        return JsonSchema.FromText(whole.ToJsonString()
            .Replace("#/components/schemas/", "#/$defs/", StringComparison.Ordinal)
            .Replace("\"x-decimals\":2", "\"multipleOf\":0.01", StringComparison.Ordinal)
            .Replace("$\"", "$(?!\\\\n)\"", StringComparison.Ordinal));
    }
}
