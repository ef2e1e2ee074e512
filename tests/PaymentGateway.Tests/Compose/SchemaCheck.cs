using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;

namespace PaymentGateway.Tests.Compose;

/// <summary>
/// A JSON schema held against a document: as much of draft 7 as the compose specification uses. A keyword that it does
/// not know fails, so that a newer schema cannot pass unseen. No library for it restores where we build.
/// </summary>
internal sealed class SchemaCheck(JsonObject schema)
{
    private static readonly HashSet<string> Known =
    [
        "type", "properties", "patternProperties", "additionalProperties", "items", "oneOf", "$ref", "required", "enum",
        "uniqueItems", "minimum", "maximum", "pattern",
        // Words only.
        "description", "title", "default", "deprecated", "definitions", "$schema", "$id",
    ];

    /// <summary>Everything wrong in <paramref name="document"/>, each with its path.</summary>
    public IReadOnlyList<string> FaultsIn(JsonNode? document) => Check(document, schema, "$").ToList();

    private IEnumerable<string> Check(JsonNode? value, JsonNode? rules, string path)
    {
        if (rules is JsonValue verdict)
            return verdict.GetValue<bool>() ? [] : [$"{path} may not be"];

        var keywords = rules!.AsObject();
        if (keywords["$ref"] is { } reference)
            return Check(value, Resolve(reference.GetValue<string>()), path);

        Assert.All(keywords, pair => Assert.Contains(pair.Key, Known));
        return CheckValue(value, keywords, path)
            .Concat(value is JsonObject map ? CheckMap(map, keywords, path) : [])
            .Concat(value is JsonArray list ? CheckList(list, keywords, path) : []);
    }

    private IEnumerable<string> CheckValue(JsonNode? value, JsonObject rules, string path)
    {
        var kind = KindOf(value);
        if (rules["type"] is { } type && !TypesIn(type).Any(one => one == kind || one == "number" && kind == "integer"))
            yield return $"{path} is {kind}, not {type.ToJsonString()}";
        if (rules["enum"] is JsonArray choices && !choices.Any(choice => JsonNode.DeepEquals(choice, value)))
            yield return $"{path} is none of {choices.ToJsonString()}";
        if (rules["pattern"] is { } pattern && kind == "string"
            && !Regex.IsMatch(value!.GetValue<string>(), pattern.GetValue<string>()))
            yield return $"{path} does not match {pattern}";
        if (rules["minimum"] is { } least && kind == "integer" && value!.GetValue<long>() < least.GetValue<long>())
            yield return $"{path} is less than {least}";
        if (rules["maximum"] is { } most && kind == "integer" && value!.GetValue<long>() > most.GetValue<long>())
            yield return $"{path} is more than {most}";
        if (rules["oneOf"] is not JsonArray branches)
            yield break;

        var tried = branches.Select(branch => Check(value, branch, path).ToList()).ToList();
        if (tried.Count(faults => faults.Count == 0) != 1)
            yield return $"{path} fits not one of {branches.Count}: {string.Join("; ", tried.SelectMany(one => one))}";
    }

    private IEnumerable<string> CheckMap(JsonObject map, JsonObject rules, string path)
    {
        foreach (var name in rules["required"]?.AsArray() ?? [])
            if (!map.ContainsKey(name!.GetValue<string>()))
                yield return $"{path}.{name} is missing";
        foreach (var (key, value) in map)
            foreach (var rule in RulesFor(key, rules))
                foreach (var fault in Check(value, rule, $"{path}.{key}"))
                    yield return fault;
    }

    private static List<JsonNode> RulesFor(string key, JsonObject rules)
    {
        var found = new List<JsonNode>();
        if (rules["properties"]?[key] is { } named)
            found.Add(named);
        foreach (var (pattern, rule) in rules["patternProperties"]?.AsObject() ?? [])
            if (Regex.IsMatch(key, pattern))
                found.Add(rule!);
        if (found.Count == 0 && rules["additionalProperties"] is { } others)
            found.Add(others);
        return found;
    }

    private IEnumerable<string> CheckList(JsonArray list, JsonObject rules, string path)
    {
        if (rules["uniqueItems"]?.GetValue<bool>() == true
            && list.Select(item => item?.ToJsonString()).Distinct().Count() < list.Count)
            yield return $"{path} has an item twice";
        if (rules["items"] is not { } each)
            yield break;

        for (var at = 0; at < list.Count; at++)
            foreach (var fault in Check(list[at], each, $"{path}[{at}]"))
                yield return fault;
    }

    private JsonNode Resolve(string reference) => reference.Split('/').Skip(1)
        .Aggregate((JsonNode)schema, (at, name) => at[name] ?? throw new KeyNotFoundException(reference));

    private static IEnumerable<string> TypesIn(JsonNode type) =>
        type is JsonArray several ? several.Select(one => one!.GetValue<string>()) : [type.GetValue<string>()];

    private static string KindOf(JsonNode? value) => value?.GetValueKind() switch
    {
        null or JsonValueKind.Null => "null",
        JsonValueKind.Object => "object",
        JsonValueKind.Array => "array",
        JsonValueKind.String => "string",
        JsonValueKind.Number => value.AsValue().TryGetValue<long>(out _) ? "integer" : "number",
        _ => "boolean",
    };
}
