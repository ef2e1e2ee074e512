using System.CommandLine;
using System.CommandLine.Parsing;
using PaymentGateway.Accepting;

namespace PaymentGateway.Cli;

/// <summary>`payments show` and `payments list`: what became of payments.</summary>
internal static class PaymentsVerb
{
    private static readonly Argument<Guid?> Id = new("id")
    {
        Description = "The correlationId.",
        Arity = ArgumentArity.ExactlyOne,
        CustomParser = ParseId,
    };

    // The gateway checks these and says what they may be.
    private static readonly Option<string>[] Filters =
    [
        GatewayVerb.Text("--state", "Only those that are accepted, in_doubt, settled or parked.", "state"),
        GatewayVerb.Text("--processor", "Only those settled by default or fallback.", "processor"),
        OperatorVerbs.Reason,
        GatewayVerb.Text(
            "--from", "Only those accepted then or later; ISO 8601, UTC unless a zone is given.", "time"),
        GatewayVerb.Text("--to", "Only those accepted then or earlier.", "time"),
    ];

    public static Command Create()
    {
        var show = GatewayVerb.Create(
            "show", "Shows one payment; exit code 1 when there is none.",
            static async (gateway, parsed) => new Report(await gateway.GetAsync(
                $"{PaymentEndpoints.Path}/{parsed.GetValue(Id)}", "correlationId", "state")));
        show.Add(Id);

        var list = GatewayVerb.Create(
            "list", "Lists payments, the newest first.",
            static (gateway, parsed) => Listing.FollowAsync(
                gateway, parsed, "payments", PaymentEndpoints.Path, Filters));
        foreach (var filter in Filters)
            list.Add(filter);
        list.Add(Listing.Limit);
        return new Command("payments", "Finds payments.") { show, list };
    }

    /// <summary>Reads a correlationId; System.CommandLine's own error names the type, not the mistake.</summary>
    public static Guid? ParseId(ArgumentResult given)
    {
        if (given.Tokens is not [var token])
            return null;
        if (Guid.TryParse(token.Value, out var id))
            return id;
        given.AddError($"'{token.Value}' is not a correlationId, which is a UUID");
        return null;
    }
}
