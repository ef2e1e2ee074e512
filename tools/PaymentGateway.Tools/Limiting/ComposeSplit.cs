using YamlDotNet.Core;
using YamlDotNet.Serialization;

namespace PaymentGateway.Tools.Limiting;

/// <summary>One part's share of the machine in docker-compose.yml.</summary>
public sealed record PartShare(decimal Cpus, int MemoryMegabytes);

/// <summary>The shares of the parts, as docker-compose.yml says them.</summary>
public static class ComposeSplit
{
    private const long BytesPerMegabyte = 1024 * 1024;

    private const string File = "docker-compose.yml";

    /// <summary>By part: nginx, api1, api2, postgres.</summary>
    public static IReadOnlyDictionary<string, PartShare> Read()
    {
        using var text = System.IO.File.OpenText(Repository.PathOf(File));
        return Parse(text);
    }

    /// <param name="compose">A compose file; anchors, aliases and merge keys are followed.</param>
    /// <exception cref="ToolException">A part has no limit there.</exception>
    public static IReadOnlyDictionary<string, PartShare> Parse(TextReader compose)
    {
        var file = new DeserializerBuilder().Build()
            .Deserialize<Dictionary<object, object>>(new MergingParser(new Parser(compose)));
        return Running.PartNames.Counted.ToDictionary(
            part => part,
            part => new PartShare(
                decimal.Parse(Limit(file, part, "cpus"), CultureInfo.InvariantCulture),
                int.Parse(Limit(file, part, "memory").TrimEnd('M'), CultureInfo.InvariantCulture)));
    }

    /// <summary>Each part with its CPU and its megabytes, and the sums.</summary>
    public static IEnumerable<string> Lines(IReadOnlyDictionary<string, PartShare> split)
    {
        foreach (var (part, share) in split)
            yield return Line(part, share.Cpus, share.MemoryMegabytes);
        yield return Line("sum", split.Values.Sum(one => one.Cpus), split.Values.Sum(one => one.MemoryMegabytes));
    }

    /// <summary>What .NET allows its heap in an instance's container, hexadecimal: the variable HEAP_LIMIT.</summary>
    public static string HeapLimit() => HeapLimit(Read()[Running.PartNames.First]);

    /// <summary>Three quarters of the container's memory.</summary>
    public static string HeapLimit(PartShare instance) =>
        (instance.MemoryMegabytes * BytesPerMegabyte * 3 / 4).ToString("x", CultureInfo.InvariantCulture);

    private static string Line(string name, decimal cpus, int megabytes) =>
        string.Create(CultureInfo.InvariantCulture, $"{name} {cpus:0.00} {megabytes}");

    private static string Limit(object file, string part, string what)
    {
        string[] path = ["services", part, "deploy", "resources", "limits", what];
        var at = file;
        foreach (var key in path)
            at = at is Dictionary<object, object> map && map.TryGetValue(key, out var next)
                ? next
                : throw new ToolException($"{File} says no {string.Join('.', path)}");
        return (string)at;
    }
}
