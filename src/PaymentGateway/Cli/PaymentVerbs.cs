using System.CommandLine;
using PaymentGateway.Accepting;
using PaymentGateway.Hosting;
using PaymentGateway.Operator.Admin;
using PaymentGateway.Summarising;

namespace PaymentGateway.Cli;

/// <summary>The verbs that show payments, and those that do an operator's work on them.</summary>
internal static class PaymentVerbs
{
    // The largest page of the gateway.
    private const int PageMax = 200;

    private const int LimitMax = 100_000;

    private static readonly Argument<Guid?> Shown = Id("The correlationId of the payment.", ArgumentArity.ExactlyOne);

    private static readonly Argument<Guid?> Replayed =
        Id("The correlationId of the payment to replay; or give --all.", ArgumentArity.ZeroOrOne);

    private static readonly Option<bool> All = new("--all") { Description = "Replay all parked payments." };

    // Takes no value, because `--yes false` would count as given.
    private static readonly Option<bool> Yes = new("--yes")
    {
        Description = "Confirms that every payment is to be deleted; there is no way back.",
        Arity = ArgumentArity.Zero,
    };

    private static readonly Option<string> Reason =
        GatewayVerb.Text("--reason", "Only payments that were parked for exactly this reason.", "text");

    // The gateway checks the values and says what they may be.
    private static readonly Option<string>[] Filters =
    [
        GatewayVerb.Text("--state", "Only payments in this state: accepted, in_doubt, settled or parked.", "state"),
        GatewayVerb.Text("--processor", "Only payments that this processor has settled.", "processor"),
        Reason,
        GatewayVerb.Text("--payer", "Only payments that came with a token of this payer.", "payer"),
        GatewayVerb.Text(
            "--from", "Only payments accepted then or later; ISO 8601, UTC unless a zone is given.", "time"),
        GatewayVerb.Text("--to", "Only payments accepted then or earlier.", "time"),
    ];

    private static readonly Option<int> Limit = new("--limit")
    {
        Description = $"How many at most, from 1 to {LimitMax}.",
        HelpName = "count",
        DefaultValueFactory = static _ => 100,
        CustomParser = static given =>
        {
            if (given.Tokens is [var token]
                && int.TryParse(token.Value, NumberStyles.None, CultureInfo.InvariantCulture, out var count)
                && count is >= 1 and <= LimitMax)
                return count;
            given.AddError($"--limit must be a whole number from 1 to {LimitMax}");
            return 0;
        },
    };

    public static Command CreateStatus() => new GatewayVerb(
        "status", "Show whether the gateway takes payments, what is settled and what is parked.",
        static (gateway, _) => StatusAsync(gateway), asksNext: true);

    public static Command CreatePayments()
    {
        var show = new GatewayVerb(
            "show", "Show one payment; exit code 1 when there is no such payment.",
            static async (gateway, parsed) => new Report(await gateway.AskAsync(
                HttpMethod.Get, $"{PaymentEndpoints.Path}/{parsed.GetValue(Shown)}", ["correlationId", "state"])))
        {
            Shown,
        };
        var list = new GatewayVerb(
            "list", "List payments, the newest first.",
            static (gateway, parsed) => ListAsync(gateway, parsed, "payments", PaymentEndpoints.Path, Filters))
        {
            Limit,
        };
        foreach (var filter in Filters)
            list.Add(filter);
        return new Command("payments", "Show and list payments.") { show, list };
    }

    public static Command CreateParked()
    {
        var replay = new GatewayVerb(
            "replay", "Replay one parked payment, or all; exit code 1 when it is not parked.", ReplayAsync)
        {
            Replayed, All, Reason,
        };
        replay.Validators.Add(static given =>
        {
            var (one, all) = (given.GetResult(Replayed) is { Tokens.Count: > 0 }, given.GetValue(All));
            if (one == all)
                given.AddError("replay takes an id, or --all");
            else if (one && given.GetValue(Reason) is not null)
                given.AddError("--reason goes with --all");
        });
        return new Command("parked", "Replay payments that a processor has rejected.") { replay };
    }

    public static Command CreatePurge()
    {
        var purge = new GatewayVerb(
            "purge", "Purge all payments, settled or not, at every instance.",
            static async (gateway, _) =>
            {
                await gateway.AskAsync(HttpMethod.Post, AuditEndpoints.PurgePath, []);
                return new Report(new JsonObject { ["purged"] = true });
            })
        {
            Yes,
        };
        purge.Demand(Yes, "purge deletes every payment");
        return purge;
    }

    public static Command CreateActions() => new GatewayVerb(
        "actions", "List operators' actions, the newest first.",
        static (gateway, parsed) => ListAsync(gateway, parsed, "actions", ActionsEndpoint.Path))
    {
        Limit,
    };

    private static async Task<Report> StatusAsync(GatewayClient gateway)
    {
        var status = new JsonObject { ["ready"] = true };
        // An instance that is not ready answers 503, which ends the verb here.
        foreach (var (name, value) in await gateway.AskAsync(HttpMethod.Get, HealthEndpoints.ReadyPath, ["ledger"]))
            status[name] = value?.DeepClone();
        try
        {
            foreach (var (name, value) in await gateway.AskAsync(HttpMethod.Get, AuditEndpoints.SummaryPath, null))
                status[name] = value?.DeepClone();
            var parked = await gateway.AskAsync(
                HttpMethod.Get, $"{PaymentEndpoints.Path}?state=parked&limit={PageMax}", ["payments", "next"]);
            status["parked"] = (parked["payments"] as JsonArray)?.Count;
            status["moreParked"] = parked["next"] is not null;
        }
        catch (VerbException refused) when (refused.ExitCode == ExitCodes.NotPermitted)
        {
            return new Report(
                status, gateway.HasToken ? ExitCodes.NotPermitted : ExitCodes.Ok,
                $"parked payments need --token: {refused.Message}");
        }
        catch (VerbException hidden) when (hidden.ExitCode == ExitCodes.Usage)
        {
            return new Report(status, Note: "parked payments are shown on an operator's listener only");
        }

        return new Report(status);
    }

    private static async Task<Report> ReplayAsync(GatewayClient gateway, ParseResult parsed)
    {
        if (parsed.GetValue(Replayed) is { } id)
        {
            await gateway.AskAsync(HttpMethod.Post, $"{ReplayEndpoints.ParkedPath}/{id}/replay", []);
            return new Report(new JsonObject { ["replayed"] = 1 });
        }

        // The call is repeated, because each one ends after 2 s, complete or not.
        for (var replayed = 0; ;)
        {
            var answer = await gateway.AskAsync(
                HttpMethod.Post, GatewayVerb.Query(parsed, ReplayEndpoints.AllPath, Reason), ["replayed", "complete"]);
            replayed += (int?)answer["replayed"] ?? 0;
            if ((bool?)answer["complete"] ?? true)
                return new Report(new JsonObject { ["replayed"] = replayed });
        }
    }

    // Follows the pages until the limit is reached or no rows are left.
    private static async Task<Report> ListAsync(
        GatewayClient gateway, ParseResult parsed, string member, string path, params Option<string>[] filters)
    {
        var limit = parsed.GetValue(Limit);
        var first = GatewayVerb.Query(parsed, $"{path}?limit={Math.Min(limit, PageMax)}", filters);
        var all = new JsonArray();
        for (var next = first; ;)
        {
            var page = await gateway.AskAsync(HttpMethod.Get, next, [member, "next"]);
            var (rows, left) = (page[member] as JsonArray ?? [], limit - all.Count);
            foreach (var row in rows.Take(left))
                all.Add(row?.DeepClone());
            var cursor = (string?)page["next"];
            if (cursor is null || all.Count == limit)
                return new Report(
                    all, Note: cursor is not null || rows.Count > left ? $"more follow after --limit {limit}" : null);

            next = $"{first}&after={Uri.EscapeDataString(cursor)}";
        }
    }

    // System.CommandLine's own error names the type, not the mistake.
    private static Argument<Guid?> Id(string description, ArgumentArity arity) => new("id")
    {
        Description = description,
        Arity = arity,
        CustomParser = static given =>
        {
            if (given.Tokens is not [var token])
                return null;
            if (Guid.TryParse(token.Value, out var id))
                return id;
            given.AddError($"'{token.Value}' is not a correlationId, which is a UUID");
            return null;
        },
    };
}
