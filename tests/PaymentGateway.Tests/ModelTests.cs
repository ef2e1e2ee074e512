using PaymentGateway.Tests.EndToEnd;

namespace PaymentGateway.Tests;

/// <summary>The models in tests/model, each searched completely within bounds that take seconds.</summary>
[Trait(Alone.Lane, LongRunning.Name)]
public sealed class ModelTests(ITestOutputHelper output)
{
    [ModelTheory]
    [InlineData("payments")]
    [InlineData("failover")]
    public async Task The_protocol_holds_and_each_broken_rule_is_found(string model)
    {
        var searched = await Shell.RunAsync([Repository.PathOf("tests", "model", "run"), model]);

        output.WriteLine(searched.Output);
        Assert.True(searched.Succeeded, $"{searched.Output}{searched.Errors}");
    }

    private sealed class ModelTheoryAttribute() : NeedsTheoryAttribute(
        "spin", Programs.Has("spin") ? null : "lacks spin: eng/setup tests brings it");
}
