namespace PaymentGateway.Tests.Http;

/// <summary>
/// Holds a value against a schema of JSON Schema 2020-12, with the keywords that openapi.json uses; any other keyword
/// is an error. NJsonSchema knows draft 4: no const, no if, no schema that is false.
/// </summary>
internal sealed class JsonSchemaCheck(Func<JsonNode, JsonNode> follow)
{
    // Ours: with multipleOf 0.01, validators that count in binary refuse 19.90.
    private const string Decimals = "x-decimals";

    private static readonly HashSet<string> SaysNothing =
        ["description", "title", "examples", "example", "default", "then", "else"];

    /// <summary>Each fault with its place; none when the value is valid.</summary>
    public List<string> FaultsOf(JsonNode? schema, JsonNode? value, string at = "")
    {
        if (schema is JsonValue constant)
            return constant.GetValue<bool>() ? [] : [$"{at} must not be there"];

        return schema!.AsObject()
            .SelectMany(keyword => FaultsOf(keyword.Key, keyword.Value!, schema.AsObject(), value, at)).ToList();
    }

    private IEnumerable<string> FaultsOf(string keyword, JsonNode says, JsonObject schema, JsonNode? value, string at)
    {
        return keyword switch
        {
            _ when SaysNothing.Contains(keyword) => [],
            "$ref" => FaultsOf(follow(schema), value, at),
            "allOf" => says.AsArray().SelectMany(part => FaultsOf(part, value, at)),
            "anyOf" => says.AsArray().Any(part => FaultsOf(part, value, at).Count == 0)
                ? []
                : says.AsArray().SelectMany(part => FaultsOf(part, value, at)).Prepend($"{at} is none of these:"),
            "if" => FaultsOf(FaultsOf(says, value, at).Count == 0 ? schema["then"] ?? true : true, value, at),
            "type" => Unless(
                (says as JsonArray ?? [$"{says}"]).Any(type => Is($"{type}", value)),
                $"{at} is no {says.ToJsonString()}"),
            "const" => Unless(JsonNode.DeepEquals(says, value), $"{at} is not {says.ToJsonString()}"),
            "enum" => Unless(
                says.AsArray().Any(one => JsonNode.DeepEquals(one, value)), $"{at} is not of {says.ToJsonString()}"),
            "required" or "properties" or "additionalProperties" =>
                value is JsonObject members ? OfMembers(keyword, says, schema, members, at) : [],
            "items" => value is JsonArray items
                ? items.SelectMany((item, index) => FaultsOf(says, item, $"{at}/{index}"))
                : [],
            "maxItems" => Unless(
                value is not JsonArray { Count: var count } || count <= (int)says, $"{at} has too many"),
            "minLength" or "maxLength" or "pattern" or "format" =>
                value?.GetValueKind() == JsonValueKind.String ? OfText(keyword, says, $"{value}", at) : [],
            "minimum" or "maximum" or Decimals =>
                value?.GetValueKind() == JsonValueKind.Number ? OfNumber(keyword, says, value, at) : [],
            _ => throw new NotSupportedException($"the keyword {keyword}"),
        };
    }

    private IEnumerable<string> OfMembers(
        string keyword, JsonNode says, JsonObject schema, JsonObject members, string at) => keyword switch
        {
            "required" => says.AsArray().Select(name => $"{name}").Where(name => !members.ContainsKey(name))
                .Select(name => $"{at}/{name} is missing"),
            "properties" => says.AsObject().Where(property => members.ContainsKey(property.Key))
                .SelectMany(property => FaultsOf(property.Value, members[property.Key], $"{at}/{property.Key}")),
            _ => members.Where(member => schema["properties"]?.AsObject().ContainsKey(member.Key) != true)
                .SelectMany(member => FaultsOf(says, member.Value, $"{at}/{member.Key}")),
        };

    private static IEnumerable<string> OfText(string keyword, JsonNode says, string text, string at) => keyword switch
    {
        "minLength" => Unless(text.Length >= (int)says, $"{at} is too short"),
        "maxLength" => Unless(text.Length <= (int)says, $"{at} is too long"),
        "pattern" => Unless(
            Regex.IsMatch(text, $"{says}", RegexOptions.ECMAScript) && !text.EndsWith('\n'), $"{at} is not as {says}"),
        _ => Unless(HasFormat($"{says}", text), $"{at} is no {says}"),
    };

    private static IEnumerable<string> OfNumber(string keyword, JsonNode says, JsonNode value, string at)
    {
        var limit = decimal.Parse(says.ToJsonString(), NumberStyles.Float, CultureInfo.InvariantCulture);
        // Larger than any decimal, or finer: against all limits of a payment.
        if (!decimal.TryParse(value.ToJsonString(), NumberStyles.Float, CultureInfo.InvariantCulture, out var number))
            return [$"{at} is too large"];

        return Unless(
            keyword switch
            {
                "minimum" => number >= limit,
                "maximum" => number <= limit,
                _ => decimal.Round(number, (int)limit) == number,
            },
            $"{at} is {number}, with {keyword} {limit}");
    }

    private static bool Is(string type, JsonNode? value) => value?.GetValueKind() switch
    {
        null or JsonValueKind.Null => type == "null",
        JsonValueKind.String => type == "string",
        JsonValueKind.Number => type == "number" || (type == "integer" && IsWhole(value)),
        JsonValueKind.Object => type == "object",
        JsonValueKind.Array => type == "array",
        _ => type == "boolean",
    };

    private static bool IsWhole(JsonNode value) =>
        decimal.TryParse(value.ToJsonString(), NumberStyles.Float, CultureInfo.InvariantCulture, out var number)
        && decimal.Truncate(number) == number;

    private static bool HasFormat(string format, string text) => format switch
    {
        "uuid" => Guid.TryParseExact(text, "D", out _),
        "date-time" => DateTimeOffset.TryParseExact(
            text, "yyyy-MM-dd'T'HH:mm:ss.FFFFFFFK", CultureInfo.InvariantCulture, DateTimeStyles.None, out _)
            && (text.EndsWith('Z') || text[^6] is '+' or '-'),
        "uri-reference" => Uri.TryCreate(text, UriKind.RelativeOrAbsolute, out _),
        "int64" => true,
        _ => throw new NotSupportedException($"the format {format}"),
    };

    private static IEnumerable<string> Unless(bool holds, string fault) => holds ? [] : [fault];
}
