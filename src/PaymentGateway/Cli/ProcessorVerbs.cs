using System.CommandLine;
using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Cli;

/// <summary>The verb that ends doubts at a processor by an operator's word.</summary>
internal static class ProcessorVerbs
{
    private static readonly Argument<string> Name =
        new("name") { Description = "The processor's, as in Gateway__Processors__<name>__BaseUrl, in small letters." };

    private static readonly Option<bool> Yes =
        new("--yes") { Description = "Needed: what it has charged all the same is charged twice." };

    public static Command Create()
    {
        var notCharged = new GatewayVerb(
            "not-charged", "Says that a processor has not charged the payments that are in doubt there.",
            static async (gateway, parsed) =>
            {
                var name = Uri.EscapeDataString(parsed.GetValue(Name)!);
                await gateway.AskAsync(
                    HttpMethod.Post, $"{NotChargedEndpoint.ProcessorsPath}/{name}/not-charged", []);
                return new Report(new JsonObject { ["recorded"] = true });
            })
        {
            Name, Yes,
        };
        notCharged.Demand(Yes, "not-charged lets other processors charge");
        return new Command("processors", "Ends doubts at a processor that answers no more.") { notCharged };
    }
}
