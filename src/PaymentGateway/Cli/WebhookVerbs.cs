using System.CommandLine;
using PaymentGateway.Operator.Webhooks;

namespace PaymentGateway.Cli;

/// <summary>The verbs of webhooks: their state, a replay of their events, and a test of an endpoint.</summary>
internal static class WebhookVerbs
{
    private static readonly Argument<string> Name =
        new("name") { Description = "The endpoint's, as in Gateway__Webhooks__<name>__Url." };

    private static readonly Option<string> After = GatewayVerb.Text(
        "--after", "The position of an event: those after it are delivered again; all that are kept, where not given.",
        "position");

    public static Command Create() => new("webhooks", "Shows and tests the endpoints that events are delivered to.")
    {
        new GatewayVerb(
            "list", "Lists the endpoints, with the failure of those that fail.",
            static async (gateway, _) =>
            {
                var answer = await gateway.AskAsync(HttpMethod.Get, WebhookEndpoints.Path, ["webhooks"]);
                return new Report(answer["webhooks"]!.DeepClone());
            }),
        new GatewayVerb(
            "replay", "Delivers events again, at once where the endpoint fails.",
            static async (gateway, parsed) =>
            {
                var path = GatewayVerb.Query(parsed, $"{PathOf(parsed)}/replay", After);
                await gateway.AskAsync(HttpMethod.Post, path, []);
                return new Report(new JsonObject { ["replayed"] = true });
            })
        {
            Name, After,
        },
        new GatewayVerb(
            "test", "Sends an event of the type webhook.test; exit code 1 when it is not taken.",
            static async (gateway, parsed) =>
            {
                var answer = await gateway.AskAsync(HttpMethod.Post, $"{PathOf(parsed)}/test", ["delivered"]);
                return new Report(answer, (bool?)answer["delivered"] == true ? ExitCodes.Ok : ExitCodes.No);
            })
        {
            Name,
        },
    };

    private static string PathOf(ParseResult parsed) =>
        $"{WebhookEndpoints.Path}/{Uri.EscapeDataString(parsed.GetValue(Name)!)}";
}
