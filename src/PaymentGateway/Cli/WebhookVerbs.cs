using System.CommandLine;
using PaymentGateway.Operator.Webhooks;

namespace PaymentGateway.Cli;

/// <summary>The verbs of webhooks: their state, a replay of their events, and a test of an endpoint.</summary>
internal static class WebhookVerbs
{
    private static readonly Argument<string> Name =
        new("name") { Description = "The endpoint's name, as in Gateway__Webhooks__<name>__Url." };

    private static readonly Option<string> After = GatewayVerb.Text(
        "--after", "Redeliver only the events after this event's position. Default: all that are kept.",
        "position");

    public static Command Create() => new("webhooks", "List, test and replay webhook endpoints.")
    {
        new GatewayVerb(
            "list", "List webhook endpoints, with the failure of those that fail.",
            static async (gateway, _) =>
            {
                var answer = await gateway.AskAsync(HttpMethod.Get, WebhookEndpoints.Path, ["webhooks"]);
                return new Report(answer["webhooks"]!.DeepClone());
            }),
        new GatewayVerb(
            "replay", "Redeliver events to an endpoint; one that fails is tried at once.",
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
            "test", "Send a test event (webhook.test) to an endpoint; exit code 1 when it is not taken.",
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
