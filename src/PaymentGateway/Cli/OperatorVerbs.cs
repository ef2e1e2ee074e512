using System.CommandLine;
using PaymentGateway.Admin;
using PaymentGateway.Summarising;

namespace PaymentGateway.Cli;

/// <summary>`parked replay`, `purge` and `actions`: what operators do, and what they did.</summary>
internal static class OperatorVerbs
{
    /// <summary>Chooses parked payments.</summary>
    public static readonly Option<string> Reason =
        GatewayVerb.Text("--reason", "Only those parked for this reason, the whole text.", "text");

    private static readonly Argument<Guid?> Id = new("id")
    {
        Description = "The correlationId of the one to replay.",
        Arity = ArgumentArity.ZeroOrOne,
        CustomParser = PaymentsVerb.ParseId,
    };

    private static readonly Option<bool> All = new("--all") { Description = "Replay all of them." };

    private static readonly Option<bool> Yes = new("--yes") { Description = "Really: every payment is deleted." };

    public static Command CreateParked()
    {
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
        return new Command("parked", "Replays the payments that a processor refused for good.") { replay };
    }

    public static Command CreatePurge()
    {
        var purge = GatewayVerb.Create(
            "purge", "Empties the ledger: every payment is deleted, settled or not.",
            static async (gateway, _) =>
            {
                await gateway.OrderAsync(AuditEndpoints.PurgePath);
                return new Report(new JsonObject { ["purged"] = true });
            });
        purge.Add(Yes);
        purge.Validators.Add(static given =>
        {
            if (!given.GetValue(Yes))
                given.AddError("purge deletes every payment: say --yes");
        });
        return purge;
    }

    public static Command CreateActions()
    {
        var actions = GatewayVerb.Create(
            "actions", "Lists what operators did, the newest first.",
            static (gateway, parsed) => Listing.FollowAsync(gateway, parsed, "actions", ActionsEndpoint.Path));
        actions.Add(Listing.Limit);
        return actions;
    }

    private static async Task<Report> ReplayAsync(GatewayClient gateway, ParseResult parsed)
    {
        if (parsed.GetValue(Id) is { } id)
        {
            await gateway.OrderAsync($"{ReplayEndpoints.ParkedPath}/{id}/replay");
            return new Report(new JsonObject { ["replayed"] = 1 });
        }

        // The call is repeated, because each one ends after 2 s, complete or not.
        for (var replayed = 0; ;)
        {
            var answer = await gateway.PostAsync(
                parsed.Query(ReplayEndpoints.AllPath, Reason), "replayed", "complete");
            replayed += (int?)answer["replayed"] ?? 0;
            if ((bool?)answer["complete"] ?? true)
                return new Report(new JsonObject { ["replayed"] = replayed });
        }
    }
}
