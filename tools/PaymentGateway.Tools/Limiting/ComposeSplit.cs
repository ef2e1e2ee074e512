namespace PaymentGateway.Tools.Limiting;

/// <summary>One part's share of the machine in docker-compose.yml.</summary>
public sealed record PartShare(decimal Cpus, int MemoryMegabytes);

/// <summary>The shares of the parts, as docker-compose.yml says them.</summary>
public static class ComposeSplit
{
    /// <summary>By part: nginx, api1, api2, postgres.</summary>
    public static IReadOnlyDictionary<string, PartShare> Read() => throw new NotImplementedException();

    /// <summary>What .NET allows its heap in an instance's container, hexadecimal: the variable HEAP_LIMIT.</summary>
    public static string HeapLimit() => throw new NotImplementedException();
}
