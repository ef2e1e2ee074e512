using System.CommandLine;
using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Cli;

/// <summary>The verb that ends doubts at a processor by an operator's word.</summary>
internal static class ProcessorVerbs
{
    private static readonly Argument<string> Name =
        new("name") { Description = "The name, as in Gateway__Processors__<name>__BaseUrl, in small letters." };

    private static readonly Option<bool> Yes = new("--yes")
    {
        Description = "Confirms it: a payment that the processor has charged all the same is charged twice.",
    };

    public static Command Create()
    {
        var notCharged = new GatewayVerb(
            "not-charged", "Tell the gateway that a processor has not charged the payments in doubt there.",
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
        return new Command("processors", "Release payments in doubt at a processor that is gone.") { notCharged };
    }
}
