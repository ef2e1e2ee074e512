namespace PaymentGateway.Operator.Admin;

/// <summary>
/// Groups of endpoints by their callers. All but the sign-in answer 503 while PostgreSQL is unavailable.
/// </summary>
/// <remarks>
/// A convention wraps each delegate when the endpoints are made. An endpoint filter would make ASP.NET build them by
/// reflection, or each handler a generated one.
/// </remarks>
internal static class AdminGroup
{
    /// <summary>For a token, on the admin listener only.</summary>
    public static RouteGroupBuilder MapAdminGroup(this IEndpointRouteBuilder routes, Role? role = null) =>
        routes.MapTokenGroup(role).WithMetadata(AdminListener.Only);

    /// <summary>
    /// For a token, on the admin listener only, at paths that are open to everybody by other methods. The call itself
    /// checks its listener, because routing would check it for the other methods too.
    /// </summary>
    public static RouteGroupBuilder MapSharedAdminGroup(this IEndpointRouteBuilder routes)
    {
        var listener = routes.ServiceProvider.GetRequiredService<AdminListener>();
        return routes.MapTokenGroup().Wrap(next => context =>
            listener.HasAccepted(context) ? next(context) : ProblemAnswer.WriteNotFoundAsync(context));
    }

    /// <summary>
    /// For a token, on every listener. Even without tokens, pages of other hosts may not post.
    /// </summary>
    /// <param name="role">The role that the call needs; null: Read for GET and HEAD, Operate for the others.</param>
    public static RouteGroupBuilder MapTokenGroup(this IEndpointRouteBuilder routes, Role? role = null) =>
        routes.MapGroup("").Admit(routes.ServiceProvider.GetRequiredService<AdminTokens>().Authenticate, role);

    /// <summary>For those who may purge, by Gateway__Admin__Purge.</summary>
    public static RouteGroupBuilder MapPurgeGroup(this IEndpointRouteBuilder routes) =>
        OptionsOf(routes).Purger == Purger.Everyone
            ? routes.MapTokenGroup(Role.Purge)
            : routes.MapAdminGroup(Role.Purge);

    /// <summary>For those who may look a payment up, by Gateway__Admin__LookUp; on every listener.</summary>
    public static RouteGroupBuilder MapLookUpGroup(this IEndpointRouteBuilder routes) =>
        OptionsOf(routes).LookUp == LookUp.Everyone
            ? routes.MapGroup("").Admit(static _ => AdminToken.Anyone, null)
            : routes.MapTokenGroup();

    /// <summary>For a token or its session, on the admin listener only: the calls of an operator's page.</summary>
    public static RouteGroupBuilder MapSessionGroup(this IEndpointRouteBuilder routes, string path) =>
        routes.MapGroup(path).WithMetadata(AdminListener.Only)
            .Admit(routes.ServiceProvider.GetRequiredService<AdminSession>().Authenticate, null);

    /// <summary>For signing in: no token and no session, on the admin listener only.</summary>
    public static RouteGroupBuilder MapSameSiteGroup(this IEndpointRouteBuilder routes, string path) =>
        routes.MapGroup(path).WithMetadata(AdminListener.Only).RefuseOtherSites();

    private static OperatorOptions OptionsOf(IEndpointRouteBuilder routes) =>
        routes.ServiceProvider.GetRequiredService<GatewayOptions>().Operators;

    private static RouteGroupBuilder Admit(
        this RouteGroupBuilder routes, Func<HttpContext, AdminToken?> authenticate, Role? role)
    {
        var calls = ((IEndpointRouteBuilder)routes).ServiceProvider.GetRequiredService<OperatorCalls>();
        return routes.AnswerWithoutDatabase()
            .Wrap(next => context => calls.PassAsync(context, authenticate(context), role, next))
            .RefuseOtherSites();
    }

    // Browsers send the POST of any page. Before a PUT or DELETE they ask for permission (CORS), which the gateway
    // never gives.
    private static RouteGroupBuilder RefuseOtherSites(this RouteGroupBuilder routes) =>
        routes.Wrap(next => context =>
            HttpMethods.IsPost(context.Request.Method) && AdminSession.IsOfOtherSite(context.Request)
                ? ProblemAnswer.WriteAsync(
                    context, Problems.CrossSiteRequest, "A page of another host may not do this.", "Origin")
                : next(context));
}
