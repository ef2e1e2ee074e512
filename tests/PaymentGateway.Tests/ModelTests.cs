namespace PaymentGateway.Tests;

/// <summary>The model of the protocol in tests/model, searched completely within bounds that take seconds.</summary>
public sealed class ModelTests(ITestOutputHelper output)
{
    [ModelFact]
    public async Task The_protocol_holds_and_each_broken_rule_is_found()
    {
        var searched = await Shell.RunAsync([Repository.PathOf("tests", "model", "run")]);

        output.WriteLine(searched.Output);
        Assert.True(searched.Succeeded, $"{searched.Output}{searched.Errors}");
    }

    private sealed class ModelFactAttribute() : NeedsFactAttribute(
        "spin", Programs.Has("spin") ? null : "lacks spin: eng/setup tests brings it");
}
