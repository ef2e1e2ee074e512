using YamlDotNet.Core;
using YamlDotNet.Serialization;

namespace PaymentGateway.Tools.Limiting;

/// <summary>One part's share of the machine in docker-compose.yml.</summary>
public sealed record PartShare(decimal Cpus, int MemoryMegabytes)
{
    public long MemoryBytes => MemoryMegabytes * 1024L * 1024;
}

/// <summary>The shares of the parts, as docker-compose.yml says them.</summary>
public static class ComposeSplit
{
    /// <summary>By part: nginx, api1, api2, postgres.</summary>
    public static IReadOnlyDictionary<string, PartShare> Read()
    {
        using var text = File.OpenText(Repository.PathOf("docker-compose.yml"));
        var compose = new DeserializerBuilder().Build().Deserialize<dynamic>(new MergingParser(new Parser(text)));
        return PartNames.Counted.ToDictionary(part => part, part =>
        {
            var limits = compose["services"][part]["deploy"]["resources"]["limits"];
            return new PartShare(
                decimal.Parse((string)limits["cpus"], CultureInfo.InvariantCulture),
                int.Parse(((string)limits["memory"]).TrimEnd('M'), CultureInfo.InvariantCulture));
        });
    }
}
