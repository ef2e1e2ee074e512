using YamlDotNet.Core;
using YamlDotNet.RepresentationModel;

namespace PaymentGateway.Tests.Compose;

/// <summary>
/// A compose project as `docker compose -f … -f …` puts it together: aliases and merge keys resolved, each file over
/// the ones before it.
/// </summary>
internal sealed partial class ComposeProject
{
    public const string Main = "docker-compose.yml";

    // What a later file replaces as a whole.
    private static readonly string[] Replaced = ["command", "entrypoint", "test"];

    private ComposeProject(JsonObject root) => Root = root;

    /// <summary>What the challenge counts.</summary>
    public static ComposeProject Challenge { get; } = Load(Main);

    /// <summary>What a plain `docker compose up` starts.</summary>
    public static ComposeProject WithSimulators { get; } = Load(Main, "docker-compose.override.yml");

    public static ComposeProject Durable { get; } =
        Load(Main, "docker-compose.override.yml", "docker-compose.durable.yml");

    public static IReadOnlyList<ComposeProject> All { get; } = [Challenge, WithSimulators, Durable];

    public JsonObject Root { get; }

    public IEnumerable<ComposeService> Services =>
        Root["services"]!.AsObject().Select(pair => new ComposeService(pair.Key, pair.Value!.AsObject()));

    public ComposeService this[string service] => Services.Single(one => one.Name == service);

    /// <summary>The options of a named volume or network, null when it has none.</summary>
    public JsonObject? Find(string section, string name) => Root[section]?[name] as JsonObject;

    /// <summary>The order in which compose stops services: nothing ends before what depends on it.</summary>
    public IReadOnlyList<IReadOnlyList<ComposeService>> StopOrder()
    {
        var left = Services.ToList();
        var order = new List<IReadOnlyList<ComposeService>>();
        while (left.Count > 0)
        {
            var free = left.Where(one => !left.Any(other => other.DependsOn.ContainsKey(one.Name))).ToList();
            Assert.NotEmpty(free);
            left.RemoveAll(free.Contains);
            order.Add(free);
        }

        return order;
    }

    /// <summary>One file as it stands, without its overrides.</summary>
    public static JsonObject Read(string file)
    {
        using var text = File.OpenText(Repository.PathOf(file));
        var yaml = new YamlStream();
        yaml.Load(text);
        return Convert(Assert.Single(yaml.Documents).RootNode)!.AsObject();
    }

    private static ComposeProject Load(params string[] files)
    {
        var root = Read(files[0]);
        foreach (var file in files.Skip(1))
            Merge(root, Read(file));
        return new ComposeProject(root);
    }

    private static JsonNode? Convert(YamlNode node) => node switch
    {
        YamlMappingNode map => ConvertMap(map),
        YamlSequenceNode list => new JsonArray(list.Select(Convert).ToArray()),
        YamlScalarNode { Style: ScalarStyle.Plain } plain =>
            ConvertPlain(Defaulted().Replace(plain.Value ?? "", "$1")),
        YamlScalarNode quoted => JsonValue.Create(quoted.Value),
        _ => throw new InvalidOperationException($"{node.Start}: an alias that was not resolved"),
    };

    // What is merged in comes first, whatever its place: keys of the mapping itself win.
    private static JsonObject ConvertMap(YamlMappingNode map)
    {
        var result = new JsonObject();
        foreach (var (_, merged) in map.Where(IsMerge))
            foreach (var (key, value) in Convert(merged)!.AsObject())
                result[key] = value?.DeepClone();
        foreach (var (key, value) in map.Where(pair => !IsMerge(pair)))
            result[((YamlScalarNode)key).Value!] = Convert(value);
        return result;
    }

    private static bool IsMerge(KeyValuePair<YamlNode, YamlNode> pair) => pair.Key is YamlScalarNode { Value: "<<" };

    private static JsonValue? ConvertPlain(string text) => text switch
    {
        "" or "~" or "null" => null,
        "true" => JsonValue.Create(true),
        "false" => JsonValue.Create(false),
        _ when long.TryParse(text, CultureInfo.InvariantCulture, out var whole) => JsonValue.Create(whole),
        _ when double.TryParse(text, CultureInfo.InvariantCulture, out var number) => JsonValue.Create(number),
        _ => JsonValue.Create(text),
    };

    private static void Merge(JsonObject into, JsonObject over)
    {
        foreach (var (key, value) in over)
            into[key] = (into[key], value) switch
            {
                (JsonObject known, JsonObject more) => Merged(known, more),
                (JsonArray, JsonArray) when Replaced.Contains(key) => value.DeepClone(),
                (JsonArray known, JsonArray more) => Appended(known, more),
                _ => value?.DeepClone(),
            };
    }

    private static JsonObject Merged(JsonObject known, JsonObject more)
    {
        var result = known.DeepClone().AsObject();
        Merge(result, more);
        return result;
    }

    // Mounts are known by where they are mounted: the later one is in the earlier one's place.
    private static JsonArray Appended(JsonArray known, JsonArray more)
    {
        var kept = known.Where(old => !more.Any(one => TargetOf(one) is { } target && target == TargetOf(old)));
        return new JsonArray(kept.Concat(more).Select(item => item?.DeepClone()).ToArray());
    }

    private static string? TargetOf(JsonNode? mount) => (mount as JsonObject)?["target"]?.GetValue<string>();

    // A variable that nobody sets.
    [GeneratedRegex(@"\$\{[A-Z_]+:-([^}]*)\}")]
    private static partial Regex Defaulted();
}
