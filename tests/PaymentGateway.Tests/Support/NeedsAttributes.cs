using Xunit.Sdk;

namespace PaymentGateway.Tests.Support;

/// <summary>
/// A fact that needs a part of the machine, which the trait `Needs` names. The fact is skipped without it: the reason
/// begins with "lacks part:", and `make test` is red unless LACKS names that part.
/// </summary>
[TraitDiscoverer("PaymentGateway.Tests.Support.NeedsDiscoverer", "PaymentGateway.Tests")]
public abstract class NeedsFactAttribute : FactAttribute, ITraitAttribute
{
    public const string Trait = "Needs";
    public const string Postgres = "postgres";
    public const string WholeSystem = "system";

    protected NeedsFactAttribute(string needs, string? skip) => (Needs, Skip) = (needs, skip);

    public string Needs { get; }
}

[TraitDiscoverer("PaymentGateway.Tests.Support.NeedsDiscoverer", "PaymentGateway.Tests")]
public abstract class NeedsTheoryAttribute : TheoryAttribute, ITraitAttribute
{
    protected NeedsTheoryAttribute(string needs, string? skip) => (Needs, Skip) = (needs, skip);

    public string Needs { get; }
}

/// <summary>Makes `--filter Needs!=system` work.</summary>
public sealed class NeedsDiscoverer : ITraitDiscoverer
{
    public IEnumerable<KeyValuePair<string, string>> GetTraits(IAttributeInfo traitAttribute) =>
        [new(NeedsFactAttribute.Trait, traitAttribute.GetNamedArgument<string>(nameof(NeedsFactAttribute.Needs)))];
}
