using System.CommandLine;
using System.Text.Json.Nodes;
using PaymentGateway.Summarising;

namespace PaymentGateway.Cli;

/// <summary>`purge`: empties the ledger.</summary>
internal static class PurgeVerb
{
    private static readonly Option<bool> Yes = new("--yes") { Description = "Really: every payment is deleted." };

    public static Command Create()
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
}
