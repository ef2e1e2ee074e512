using YamlDotNet.Core;
using YamlDotNet.Serialization;

namespace PaymentGateway.Tests.Support;

/// <summary>The manifests of ops/kubernetes. All values are texts; aliases are followed.</summary>
internal static class Manifests
{
    public static readonly string Folder = Repository.PathOf("ops", "kubernetes");

    public static readonly JsonNode Kustomization = Read("kustomization.yaml").Single();

    /// <summary>The files that the kustomization names.</summary>
    public static readonly IReadOnlyList<string> Files = [.. Texts(Kustomization["resources"])];

    private static readonly List<JsonNode> Objects = [.. Files.SelectMany(Read)];

    public static JsonNode Of(string kind) => Objects.Single(one => Text(one["kind"]) == kind);

    public static JsonNode PodOf(string kind) => Of(kind)["spec"]!["template"]!["spec"]!;

    public static JsonNode ContainerOf(string kind) => Assert.Single(PodOf(kind)["containers"]!.AsArray())!;

    /// <summary>The environment of a container in a pod of this name, with what it takes from ConfigMaps.</summary>
    public static Dictionary<string, string?> EnvironmentOf(string kind, string pod)
    {
        var container = ContainerOf(kind);
        var taken = Names(container["envFrom"], one => one["configMapRef"]!["name"]);
        var settings = Kustomization["configMapGenerator"]!.AsArray()
            .Where(map => taken.Contains(Text(map!["name"]))).SelectMany(map => Texts(map!["literals"]))
            .ToDictionary(one => one.Split('=')[0], one => (string?)one.Split('=', 2)[1]);
        foreach (var variable in container["env"]!.AsArray())
            settings[Text(variable!["name"])] = variable["valueFrom"] is { } source
                ? Text(source["fieldRef"]!["fieldPath"]) == "metadata.name" ? pod : null
                : Text(variable["value"]);
        return settings;
    }

    public static IEnumerable<string> Names(JsonNode? list, Func<JsonNode, JsonNode?> name) =>
        (list?.AsArray() ?? []).Select(one => Text(name(one!)));

    public static IEnumerable<string> Texts(JsonNode? list) => (list?.AsArray() ?? []).Select(Text);

    public static string Text(JsonNode? value) => value?.ToString() ?? "";

    private static List<JsonNode> Read(string file)
    {
        using var text = File.OpenText(Path.Combine(Folder, file));
        var parser = new Parser(text);
        parser.Consume<YamlDotNet.Core.Events.StreamStart>();
        var deserializer = new DeserializerBuilder().Build();
        var documents = new List<JsonNode>();
        while (parser.Accept<YamlDotNet.Core.Events.DocumentStart>(out _))
            documents.Add(JsonSerializer.SerializeToNode(deserializer.Deserialize<object>(parser))!);
        return documents;
    }
}
