using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Operator.Dashboard;

/// <summary>GET /ops, the operator's page, with its files and calls, on the admin listener only.</summary>
/// <remarks>Redirects are relative, because a proxy may give the page a path of its own.</remarks>
internal static class OpsPage
{
    public const string Path = "/ops";
    private const string SignInPath = "/sign-in";

    // No secrets, so no session is needed.
    private static readonly string[] Files = ["ops.css", "ops.js", "uplot.js", "uplot.css", "uplot.txt"];

    public static void AddDashboard(this IServiceCollection services)
    {
        services.AddSingleton<OpsEvents>();
        services.AddSingleton<OverviewStream>();
        services.AddSingleton<SharedFactsReader>();
        services.AddSingleton(provider => new OverviewBuilder(
            provider.GetRequiredService<GatewayOptions>(), provider.GetRequiredService<InstanceLock>().Identity,
            provider.GetRequiredService<InstanceReader>().Bounds));
    }

    public static void MapDashboard(this IEndpointRouteBuilder routes)
    {
        var session = routes.ServiceProvider.GetRequiredService<AdminSession>();
        var actions = routes.ServiceProvider.GetRequiredService<OperatorCalls>();
        var open = routes.MapSameSiteGroup(Path);
        open.MapPage("", "ops.html").Wrap(next => context =>
            session.Authenticate(context) is null ? SeeOther(context, "ops" + SignInPath) : next(context));
        foreach (var file in Files)
            open.MapPage("/" + file, file);
        open.MapPage(SignInPath, "sign-in.html");
        open.MapPost(SignInPath, context => SignInAsync(context, session, actions));
        open.MapPost("/sign-out", context =>
        {
            AdminSession.End(context, Path);
            return SeeOther(context, "../ops");
        });

        var calls = routes.MapSessionGroup(Path);
        calls.MapGet("/events", routes.ServiceProvider.GetRequiredService<OpsEvents>().AnswerAsync);
        calls.MapPaymentList();
        calls.MapReplays("/parked");
    }

    private static async Task SignInAsync(HttpContext context, AdminSession session, OperatorCalls actions)
    {
        if (session.Begin(context, await GivenAsync(context), Path) is { } by)
            await actions.RecordAsync(context, by, static signedIn => SeeOther(signedIn, "../ops"));
        else
            // The fragment makes the page show the message and focus the field.
            await SeeOther(context, "sign-in#token");
    }

    private static async Task<string> GivenAsync(HttpContext context)
    {
        try
        {
            return context.Request.HasFormContentType
                ? (await context.Request.ReadFormAsync(context.RequestAborted))["token"].ToString()
                : "";
        }
        catch (Exception malformed) when (
            malformed is InvalidDataException or (IOException and not BadHttpRequestException))
        {
            return ""; // No browser sends such a form.
        }
    }

    private static Task SeeOther(HttpContext context, string location)
    {
        context.Response.StatusCode = StatusCodes.Status303SeeOther;
        context.Response.Headers.Location = location;
        context.Response.Headers.CacheControl = "no-store";
        return Task.CompletedTask;
    }
}
