using PaymentGateway.Configuration;
using PaymentGateway.Http;

namespace PaymentGateway.Admin;

/// <summary>What every call of an operator has, and what every call has that asks the database itself.</summary>
/// <remarks>
/// Conventions and not endpoint filters: a filter has ASP.NET build the endpoint by reflection, or makes each handler a
/// generated one; a convention puts one delegate around another when the endpoints are made.
/// </remarks>
internal static class AdminGroup
{
    /// <summary>Where an operator's calls are mapped: as below, and on the admin listener only.</summary>
    public static RouteGroupBuilder MapAdminGroup(this IEndpointRouteBuilder routes, Role? role = null) =>
        routes.MapTokenGroup(role).WithMetadata(AdminListener.Only);

    /// <summary>
    /// The same for paths that everybody calls by another method: the call itself looks at its listener, because
    /// routing would do so for those others too.
    /// </summary>
    public static RouteGroupBuilder MapSharedAdminGroup(this IEndpointRouteBuilder routes)
    {
        var listener = routes.ServiceProvider.GetRequiredService<AdminListener>();
        return routes.MapTokenGroup().Around(next => context =>
            listener.Accepted(context) ? next(context) : ProblemAnswer.WriteNotFoundAsync(context));
    }

    /// <summary>
    /// Where calls are mapped that need a token, on every listener: 401 without it, 503 while PostgreSQL is
    /// unavailable. Pages of other hosts may not post, and by an operator's port not read, also where no token is set.
    /// </summary>
    /// <param name="routes">The gateway's.</param>
    /// <param name="role">Of the token; null: Read for GET and HEAD, Operate for the others.</param>
    public static RouteGroupBuilder MapTokenGroup(this IEndpointRouteBuilder routes, Role? role = null)
    {
        var tokens = routes.ServiceProvider.GetRequiredService<AdminTokens>();
        return routes.MapGroup("").Passes(tokens.Find, role);
    }

    /// <summary>The same for everybody.</summary>
    public static RouteGroupBuilder MapOpenGroup(this IEndpointRouteBuilder routes) =>
        routes.MapGroup("").Passes(static _ => AdminToken.Anyone, null);

    /// <summary>
    /// Where the calls of an operator's page are mapped: as in the admin group, and a session is as good as its token.
    /// </summary>
    public static RouteGroupBuilder MapSessionGroup(this IEndpointRouteBuilder routes, string path)
    {
        var session = routes.ServiceProvider.GetRequiredService<AdminSession>();
        return routes.MapGroup(path).WithMetadata(AdminListener.Only).Passes(session.Find, null);
    }

    /// <summary>The same without token and session: for signing in.</summary>
    public static RouteGroupBuilder MapSameSiteGroup(this IEndpointRouteBuilder routes, string path) =>
        routes.MapGroup(path).WithMetadata(AdminListener.Only).RefusesOtherSites();

    private static RouteGroupBuilder Passes(
        this RouteGroupBuilder routes, Func<HttpContext, AdminToken?> find, Role? role)
    {
        var calls = ((IEndpointRouteBuilder)routes).ServiceProvider.GetRequiredService<OperatorCalls>();
        return routes.AnswersWithoutDatabase()
            .Around(next => context => calls.PassAsync(context, find(context), role, next))
            .RefusesOtherSites();
    }

    // Browsers send any page's POST without asking first; PUT and DELETE they ask about, and nobody says yes. A page
    // that they take for one of the gateway's own may send everything, and read the answer.
    private static RouteGroupBuilder RefusesOtherSites(this RouteGroupBuilder routes)
    {
        var listener = ((IEndpointRouteBuilder)routes).ServiceProvider.GetRequiredService<AdminListener>();
        return routes.Around(next => context =>
        {
            if (HttpMethods.IsPost(context.Request.Method) && AdminSession.IsOfOtherSite(context.Request))
                return RefuseAsync(context, "A page of another host may not do this.", "Origin");
            if (listener.IsOfUnknownHost(context))
                return RefuseAsync(context, "Use localhost or an IP address, or set Gateway__Admin__Token.", "Host");
            return next(context);
        });
    }

    private static Task RefuseAsync(HttpContext context, string detail, string header) =>
        ProblemAnswer.WriteAsync(context, Problems.CrossSiteRequest, detail, header);
}
