namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Tests on whole systems run one after another and beside nothing else: they are about time.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class OneAfterAnother : ICollectionFixture<RunningSystem>
{
    public const string Name = "End to end";
}
