using System.CommandLine;
using PaymentGateway.Admin;

namespace PaymentGateway.Cli;

/// <summary>`actions`: what operators did.</summary>
internal static class ActionsVerb
{
    // The most that the gateway gives at once.
    private const int PageMax = 200;

    public static Command Create()
    {
        var actions = GatewayVerb.Create(
            "actions", "Lists what operators did, the newest first.",
            static (gateway, parsed) =>
            {
                var limit = parsed.GetValue(Listing.Limit);
                return Listing.FollowAsync(
                    gateway, "actions", $"{ActionsEndpoint.Path}?limit={Math.Min(limit, PageMax)}", limit);
            });
        actions.Add(Listing.Limit);
        return actions;
    }
}
