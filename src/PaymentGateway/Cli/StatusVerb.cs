using System.CommandLine;
using PaymentGateway.Accepting;
using PaymentGateway.Hosting;
using PaymentGateway.Summarising;

namespace PaymentGateway.Cli;

/// <summary>`status`: whether the gateway takes payments, what is settled, and what waits for an operator.</summary>
internal static class StatusVerb
{
    public static Command Create() => GatewayVerb.Create(
        "status", "Says whether the gateway takes payments, what is settled and what is parked.",
        static (gateway, _) => AskAsync(gateway), asksNext: true);

    // One that is not ready throws 503: nothing else is worth asking then.
    private static async Task<Report> AskAsync(GatewayClient gateway)
    {
        var status = new JsonObject { ["ready"] = true };
        foreach (var (name, value) in await gateway.GetAsync(HealthEndpoints.ReadyPath))
            status[name] = value?.DeepClone();
        foreach (var (name, value) in await gateway.GetAsync(AuditEndpoints.SummaryPath, "default", "fallback"))
            status[name] = value?.DeepClone();
        try
        {
            var parked = await gateway.GetAsync(
                $"{PaymentEndpoints.Path}?state=parked&limit={Listing.PageMax}", "payments", "next");
            status["parked"] = (parked["payments"] as JsonArray)?.Count;
            status["moreParked"] = parked["next"] is not null;
        }
        catch (VerbException refused) when (refused.ExitCode == ExitCodes.NotPermitted)
        {
            return new Report(
                status, gateway.HasToken ? ExitCodes.NotPermitted : ExitCodes.Ok,
                $"what is parked needs --token: {refused.Message}");
        }
        catch (VerbException hidden) when (hidden.ExitCode == ExitCodes.Usage)
        {
            return new Report(status, Note: "what is parked is told on an operator's listener only");
        }

        return new Report(status);
    }
}
