using System.CommandLine;
using PaymentGateway.Operator.Reconciliation;

namespace PaymentGateway.Cli;

/// <summary>`reconcile`: compares the ledger with the processors, and repairs it on request.</summary>
internal static class ReconcileVerb
{
    private static readonly Option<string> From = GatewayVerb.Text(
        "--from", "The earliest requestedAt; ISO 8601, UTC unless a zone is given. Default: the oldest.", "time");

    private static readonly Option<string> To = GatewayVerb.Text(
        "--to", "The latest requestedAt. Default: the latest time before which nothing is in flight.", "time");

    private static readonly Option<bool> Repair = new("--repair")
    {
        Description = "Repair: record what a processor holds, and put back in doubt what none holds.",
    };

    public static Command Create() => new GatewayVerb(
        "reconcile", "Compare the ledger with the processors; exit code 65 when they differ.", AskAsync)
    {
        From, To, Repair,
    };

    private static async Task<Report> AskAsync(GatewayClient gateway, ParseResult parsed)
    {
        var path = GatewayVerb.Query(
            parsed, $"{ReconciliationEndpoint.Path}?repair={(parsed.GetValue(Repair) ? "true" : "false")}", From, To);
        var error = parsed.InvocationConfiguration.Error;
        var answer = await gateway.AskAsync(
            HttpMethod.Post, path, ["report"],
            line => error.WriteLine($"{line["phase"]}, {line["calls"]} calls, at {line["at"]}"));
        if (answer["report"] is not JsonObject report || (string?)report["outcome"] is not { } outcome)
            throw new VerbException(ExitCodes.Failed, "the answer is no report; is this the gateway?");

        var exitCode = outcome switch
        {
            "agrees" or "repaired" => ExitCodes.Ok,
            "differs" => ExitCodes.Differs,
            _ => ExitCodes.Unavailable,
        };
        var asJson = parsed.GetValue(Report.Json);
        return new Report(
            asJson ? report : Table(report), exitCode,
            asJson && exitCode == ExitCodes.Ok ? null : (string?)report["stopped"] ?? Summary(report, outcome));
    }

    private static string Summary(JsonObject report, string outcome)
    {
        var rows = (report["differences"] as JsonArray)?.Count ?? 0;
        var processors = report["processors"] as JsonObject ?? [];
        var more = (bool?)report["truncated"] == true ? ", and perhaps more" : "";
        return $"{outcome}: {rows} differences{more}, {report["repaired"]} repaired; "
            + $"{processors.Sum(one => (long?)one.Value?["ledger"]?["payments"] ?? 0)} "
            + $"payments of the ledger from {report["from"] ?? "-"} to {report["to"] ?? "-"}";
    }

    // One cell for each side, so that a difference fits into a line.
    private static JsonArray Table(JsonObject report)
    {
        var table = new JsonArray();
        foreach (var difference in report["differences"] as JsonArray ?? [])
        {
            var row = new JsonObject();
            foreach (var (name, value) in difference as JsonObject ?? [])
                row[name] = value is JsonObject side
                    ? string.Join(' ', side.Select(member => member.Value?.ToString()))
                    : value?.DeepClone();
            table.Add((JsonNode)row);
        }

        return table;
    }
}
