namespace PaymentGateway.Tests.Cli;

public sealed class GatewayVerbTests() : OneGateway(
    $"Admin:Token={Token}", $"Admin:Tokens:reader:Token={Reader}", "Settling:CallTimeout=2s",
    "Settling:InDoubtHorizon=2s")
{
    private const string Token = "secret";
    private const string Reader = "a token that reads";
    private const string Refused = "default answered 400";

    [PostgresFact]
    public async Task Status_says_that_it_is_ready_and_what_is_settled_and_parked()
    {
        await Gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 1);
        await Rig.ParkAsync(2, Refused);

        var text = await AskAsync("status");
        var json = (await AskAsync("status", "--json")).ReadJson();

        Assert.Equal(0, text.ExitCode);
        Assert.Matches(@"(?m)^default\.totalAmount +19\.90$", text.Output);
        Assert.Matches("(?m)^parked +2$", text.Output);
        Assert.True(json.GetProperty("ready").GetBoolean());
        Assert.Equal(1, json.GetProperty("default").GetProperty("totalRequests").GetInt32());
        Assert.Equal(2, json.GetProperty("parked").GetInt32());
    }

    [PostgresFact]
    public async Task Status_says_the_rest_without_the_token_and_a_wrong_one_ends_with_77()
    {
        var without = await Verb.RunAsync("status", "--url", Gateway.Url);
        var wrong = await Verb.RunAsync("status", "--url", Gateway.Url, "--token", "wrong");

        Assert.Equal((0, 77), (without.ExitCode, wrong.ExitCode));
        foreach (var status in new[] { without, wrong })
        {
            Assert.Contains("ready", status.Output, StringComparison.Ordinal);
            Assert.Contains("--token", status.Error, StringComparison.Ordinal);
        }
    }

    [PostgresFact]
    public async Task Status_asks_the_next_instance_when_the_first_does_not_answer()
    {
        var next = await Verb.RunAsync("status", "--url", $"http://127.0.0.1:9;{Gateway.Url}", "--token", Token);
        var none = await Verb.RunAsync("status", "--url", "http://127.0.0.1:9;http://unix:/nowhere");

        Assert.Equal((0, ""), (next.ExitCode, next.Error));
        none.AssertFailed(69, "127.0.0.1:9");
        Assert.Contains("/nowhere", none.Error, StringComparison.Ordinal);
    }

    [PostgresFact]
    public async Task An_empty_list_is_none_and_in_JSON_an_empty_array()
    {
        Assert.Equal(new Verb(0, "none", ""), await AskAsync("payments", "list"));
        Assert.Equal(new Verb(0, "[]", ""), await AskAsync("payments", "list", "--json"));
    }

    [PostgresFact]
    public async Task One_parked_payment_is_replayed_and_then_the_rest()
    {
        await Rig.ParkAsync(2, "another reason");
        await Rig.ParkAsync(1_200, Refused);
        var first = (await AskAsync("payments", "list", "--state", "parked", "--limit", "1", "--json")).ReadJson()[0];
        var id = first.GetProperty("correlationId").GetString()!;

        var one = await AskAsync("parked", "replay", id);
        var again = await AskAsync("parked", "replay", id);
        var others = await AskAsync("parked", "replay", "--all", "--reason", "another reason", "--json");
        var rest = await AskAsync("parked", "replay", "--all");

        Assert.Equal(new Verb(0, "replayed  1", ""), one);
        again.AssertFailed(1, "No parked payment");
        Assert.Equal(2, others.ReadJson().GetProperty("replayed").GetInt32());
        Assert.Equal("replayed  1199", rest.Output);
        await Rig.LedgersReachAsync(byDefault: 1_202);
    }

    [PostgresTheory]
    [InlineData("payments list")]
    [InlineData("parked replay --all")]
    [InlineData("parked replay 4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3")]
    [InlineData("purge --yes")]
    public async Task An_operators_verb_without_the_token_is_not_permitted(string verb)
    {
        await Gateway.PayAsync();

        (await Verb.RunAsync([.. verb.Split(' '), "--url", Gateway.Url])).AssertFailed(77, "X-Rinha-Token");
        Assert.Equal(1, await Rig.CountStoredAsync());
    }

    [PostgresFact]
    public async Task Actions_are_listed_and_a_role_that_is_too_low_ends_with_77()
    {
        var refused = await Verb.RunAsync("purge", "--yes", "--url", Gateway.Url, "--token", Reader);
        await AskAsync("purge", "--yes");
        var actions = (await Verb.RunAsync("actions", "--json", "--url", Gateway.Url, "--token", Reader)).ReadJson();
        var last = await AskAsync("actions", "--limit", "1");

        refused.AssertFailed(77, "the role Purge");
        Assert.Equal(
            ["admin 200", "reader 403"],
            actions.EnumerateArray().Select(one => $"{one.GetProperty("actor")} {one.GetProperty("outcome")}"));
        Assert.Contains("POST /purge-payments", last.Output, StringComparison.Ordinal);
        Assert.Equal("more follow after --limit 1", last.Error);
    }

    private Task<Verb> AskAsync(params string[] verb) =>
        Verb.RunAsync([.. verb, "--url", Gateway.Url, "--token", Token]);
}
