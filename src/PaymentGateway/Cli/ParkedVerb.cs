using System.CommandLine;
using System.Text.Json.Nodes;
using PaymentGateway.Admin;

namespace PaymentGateway.Cli;

/// <summary>`parked list` and `parked replay`: the payments that a processor refused for good.</summary>
internal static class ParkedVerb
{
    // The most that the gateway gives at once.
    private const int PageMax = 1_000;

    private static readonly Option<string> Reason = new("--reason")
    {
        Description = "Only those parked for this reason, the whole text.",
        HelpName = "text",
    };

    private static readonly Argument<Guid?> Id = new("id")
    {
        Description = "The correlationId of the one to replay.",
        Arity = ArgumentArity.ZeroOrOne,
        CustomParser = PaymentsVerb.ParseId,
    };

    private static readonly Option<bool> All = new("--all") { Description = "Replay all of them." };

    public static Command Create()
    {
        var list = GatewayVerb.Create("list", "Lists parked payments, the oldest first.", ListAsync);
        list.Add(Reason);
        list.Add(Listing.Limit);

        var replay = GatewayVerb.Create(
            "replay", "Gives parked payments back to be settled; exit code 1 when there is no such one.", ReplayAsync);
        replay.Add(Id);
        replay.Add(All);
        replay.Add(Reason);
        replay.Validators.Add(static given =>
        {
            var (one, all) = (given.GetResult(Id) is { Tokens.Count: > 0 }, given.GetValue(All));
            if (one == all)
                given.AddError("replay takes an id, or --all");
            else if (one && given.GetValue(Reason) is not null)
                given.AddError("--reason goes with --all");
        });
        return new Command("parked", "Shows and replays the payments that a processor refused for good.")
        {
            list, replay,
        };
    }

    private static Task<Report> ListAsync(GatewayClient gateway, ParseResult parsed)
    {
        var limit = parsed.GetValue(Listing.Limit);
        return Listing.FollowAsync(
            $"{ParkedEndpoints.ListPath}?limit={Math.Min(limit, PageMax)}{ReasonQuery('&', parsed)}", limit,
            async path => await gateway.GetRowsAsync(path));
    }

    private static async Task<Report> ReplayAsync(GatewayClient gateway, ParseResult parsed)
    {
        if (parsed.GetValue(Id) is { } id)
        {
            await gateway.OrderAsync($"{ParkedEndpoints.ListPath}/{id}/replay");
            return new Report(new JsonObject { ["replayed"] = 1 });
        }

        // What is not complete after 2 s is asked for again.
        for (var replayed = 0; ;)
        {
            var answer = await gateway.PostAsync(
                ParkedEndpoints.ReplayAllPath + ReasonQuery('?', parsed), "replayed", "complete");
            replayed += (int?)answer["replayed"] ?? 0;
            if ((bool?)answer["complete"] ?? true)
                return new Report(new JsonObject { ["replayed"] = replayed });
        }
    }

    private static string ReasonQuery(char before, ParseResult parsed) =>
        parsed.GetValue(Reason) is { } reason ? $"{before}reason={Uri.EscapeDataString(reason)}" : "";
}
