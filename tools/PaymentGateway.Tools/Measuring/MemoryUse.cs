using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring;

/// <summary>Memory in MiB: PSS of the whole and of the larger instance, and that instance's resident memory.</summary>
internal readonly record struct MemoryUse(long Whole, long Instance, long Resident)
{
    public static MemoryUse Of(IReadOnlyDictionary<string, int> pids)
    {
        var whole = PartNames.Counted.Where(pids.ContainsKey)
            .ToDictionary(part => part, part => PartUse.PssKib(pids[part]));
        var instances = PartNames.Instances.Where(pids.ContainsKey).ToList();
        return new MemoryUse(
            whole.Values.Sum() / 1024,
            instances.Select(part => whole[part]).DefaultIfEmpty().Max() / 1024,
            instances.Select(part => PartUse.ResidentKib(pids[part])).DefaultIfEmpty().Max() / 1024);
    }

    public MemoryUse Peak(MemoryUse other) => new(
        Math.Max(Whole, other.Whole), Math.Max(Instance, other.Instance), Math.Max(Resident, other.Resident));

    public string[] Figures() => [Figure.Of(Whole), Figure.Of(Instance), Figure.Of(Resident)];
}
