[assembly: TestCollectionOrderer(
    "PaymentGateway.Tests.EndToEnd.LongestFirst", "PaymentGateway.Tests")]

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Tests on whole systems, which mostly wait: one after another, beside the tests of single parts.</summary>
[CollectionDefinition(Name)]
public sealed class OneAfterAnother : ICollectionFixture<RunningSystem>
{
    public const string Name = "End to end";
}

/// <summary>A second such collection: the two run beside each other, and take about as long.</summary>
[CollectionDefinition(Name)]
public sealed class AlsoOneAfterAnother : ICollectionFixture<RunningSystem>
{
    public const string Name = "End to end, the second half";
}

/// <summary>
/// Tests that need the machine: what they judge is time, memory, or a load that fills it. One after another, and beside
/// nothing else. Their classes carry the trait too, so that .ci/run can keep other work away from them.
/// </summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class Alone : ICollectionFixture<RunningSystem>
{
    public const string Name = "Alone";
    public const string Lane = "Lane";
}

/// <summary>
/// Tests of minutes that each search for what no single test asks: chaos, lost hosts, failovers, and the models. They
/// are a part of .ci/run of their own, because `make test` would take half as long again; its simulated schedules stand
/// for them there.
/// </summary>
public static class LongRunning
{
    public const string Name = "Long";
}

/// <summary>Begins the longest collections first, so that nothing is left to wait for them alone.</summary>
public sealed class LongestFirst : ITestCollectionOrderer
{
    public IEnumerable<ITestCollection> OrderTestCollections(IEnumerable<ITestCollection> testCollections) =>
        testCollections.OrderBy(
            collection => collection.DisplayName is not (OneAfterAnother.Name or AlsoOneAfterAnother.Name));
}
