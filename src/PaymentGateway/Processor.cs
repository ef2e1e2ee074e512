using System.Numerics;

namespace PaymentGateway;

/// <summary>A configured processor, one object per instance. Safe from any thread.</summary>
/// <param name="name">The name in the API, the log and the metrics: a lower case word.</param>
/// <param name="fee">The share of an amount, from 0 to 1.</param>
internal sealed class Processor(string name, decimal fee)
{
    private int _id;

    public string Name => name;

    public decimal Fee => fee;

    /// <summary>The ledger's permanent number for the name, from 1 to 14.</summary>
    /// <exception cref="InvalidOperationException">The number is not known before the first lease.</exception>
    public short Id
    {
        get => Volatile.Read(ref _id) is > 0 and var id
            ? (short)id
            : throw new InvalidOperationException($"{name} has no number yet.");
        set => Volatile.Write(ref _id, value);
    }

    /// <summary>For metrics and traces; allocated once, not per payment.</summary>
    public KeyValuePair<string, object?> Tag { get; } = new("processor", name);

    public override string ToString() => name;
}

/// <summary>Processors by their ids, as the ledger stores them: bit n stands for id n; bit 0 is no processor.</summary>
internal readonly record struct ProcessorSet(short Bits)
{
    public bool IsEmpty => Bits == 0;

    public int Count => BitOperations.PopCount((uint)Bits);

    public bool IsSingle => Count == 1;

    public static ProcessorSet Of(Processor processor) => Of(processor.Id);

    /// <param name="id">From 1 to 14.</param>
    public static ProcessorSet Of(short id) => new((short)(1 << id));

    public bool Contains(Processor processor) => (Bits & (1 << processor.Id)) != 0;

    public ProcessorSet Without(ProcessorSet other) => new((short)(Bits & ~other.Bits));

    public static ProcessorSet operator |(ProcessorSet one, ProcessorSet other) => new((short)(one.Bits | other.Bits));
}
