namespace PaymentGateway.Tests.Cli;

public sealed class ConformanceVerbTests : OneSimulator
{
    private protected override TimeProvider SimulatorClock => TimeProvider.System;

    [Fact]
    public async Task A_simulator_that_keeps_the_contract_breaks_no_rule()
    {
        var verb = await CheckAsync();

        Assert.Equal((0, ""), (verb.ExitCode, verb.Error));
        Assert.Equal(12, verb.ReadJson().GetArrayLength());
        Assert.All(verb.ReadJson().EnumerateArray(), row => Assert.Equal("right", row.Text("result")));
    }

    [Theory]
    [InlineData("garbage", true, "a charge gets 200 and a message")]
    [InlineData("tooMany", true, "the same id again gets 422")]
    [InlineData("status", 404, "twelve digits of an amount are kept")]
    [InlineData("afterInsert", "errorBody", "of five charges with one id at once one is stored")]
    [InlineData("afterInsert", "reset", "a charge gets 200 and a message")]
    [InlineData("beforeInsert", "reset", "a look-up gets id, amount and requestedAt as sent")]
    [InlineData("lookUp", "garbage", "a look-up gets id, amount and requestedAt as sent")]
    [InlineData("lookUp", "tooMany", "a look-up of an unknown id gets 404")]
    [InlineData("lookUp", "errorBody", "what it refused is not stored")]
    [InlineData("health", "garbage", "health gets failing and minResponseTime")]
    [InlineData("health", "tooMany", "health gets failing and minResponseTime")]
    public async Task Each_fault_breaks_its_rule(string fault, object value, string rule)
    {
        await Simulator.SetFaultsAsync(new Dictionary<string, object> { [fault] = value });

        var verb = await CheckAsync();

        Assert.Equal(65, verb.ExitCode);
        var broken = verb.ReadJson().EnumerateArray().Where(row => row.Text("result") != "right").ToList();
        Assert.Contains(rule, broken.Select(row => row.Text("rule")));
        Assert.Equal($"{broken.Count} rules are broken", verb.Error);
    }

    [Fact]
    public async Task A_wrong_token_breaks_the_rules_of_the_administrator_alone() => Assert.Equal(
        ["sums include both bounds"], (await CheckAsync("wrong")).ReadJson().EnumerateArray()
            .Where(row => row.Text("result") != "right").Select(row => row.Text("rule")));

    [Fact]
    public async Task A_simulator_that_is_not_there_breaks_every_rule()
    {
        await Simulator.DisposeAsync();

        var verb = await CheckAsync();

        Assert.Equal(65, verb.ExitCode);
        Assert.All(verb.ReadJson().EnumerateArray(), row => Assert.StartsWith(
            "no answer: ", row.Text("result"), StringComparison.Ordinal));
    }

    private Task<Verb> CheckAsync(string token = SimulatedProcessor.InitialToken) => Verb.RunAsync(
        "conformance", "--url", Simulator.BaseAddress.AbsoluteUri, "--token", token, "--json");
}
