using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Admin;

/// <summary>
/// POST /admin/processors/{name}/not-charged: an operator says that a processor, which is gone or answers no look-up,
/// has not charged the payments that are in doubt there. The instances that have them act within seconds.
/// </summary>
internal static class NotChargedEndpoint
{
    public const string ProcessorsPath = "/admin/processors";

    public static void MapNotCharged(this IEndpointRouteBuilder admin)
    {
        var store = admin.ServiceProvider.GetRequiredService<OperatorWordStore>();
        admin.MapPost(ProcessorsPath + "/{name}/not-charged", async context =>
        {
            var name = context.Request.RouteValues["name"] as string ?? "";
            if (!await store.SayNotChargedAsync(name))
            {
                await ProblemAnswer.WriteAsync(
                    context, Problems.ProcessorNotFound, "The ledger has no processor of this name.", "name");
                return;
            }

            OperatorCalls.Tell(context, name);
            context.Response.StatusCode = 202;
        });
    }
}
