using PaymentGateway.Hosting.Telemetry;

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

    /// <summary>
    /// For those who may look a payment up, by Gateway__Admin__LookUp, and for payers; on every listener.
    /// </summary>
    public static RouteGroupBuilder MapLookUpGroup(this IEndpointRouteBuilder routes)
    {
        var tokens = routes.ServiceProvider.GetRequiredService<AdminTokens>();
        var isOpen = OptionsOf(routes).LookUp == LookUp.Everyone;
        return routes.MapGroup("").Admit(
            context =>
            {
                if (isOpen && !tokens.PayersAreNeeded)
                    return AdminToken.Anyone;
                var by = tokens.Authenticate(context);
                context.Features.Set(by?.Payer);
                return by;
            },
            null, orPayer: true);
    }

    /// <summary>
    /// For those whom a setting shows something to, on every listener; for operators without a token on theirs.
    /// </summary>
    public static RouteGroupBuilder MapReaderGroup(
        this IEndpointRouteBuilder routes, Func<OperatorOptions, Readers?> setting)
    {
        var tokens = routes.ServiceProvider.GetRequiredService<AdminTokens>();
        var listener = routes.ServiceProvider.GetRequiredService<AdminListener>();
        var calls = routes.ServiceProvider.GetRequiredService<OperatorCalls>();
        var given = setting(OptionsOf(routes));
        return routes.MapGroup("").Wrap(next => context =>
        {
            var readers = given ?? (tokens.PayersAreNeeded ? Readers.Operators : Readers.Everyone);
            if (readers == Readers.Everyone)
                return next(context);
            return readers == Readers.Nobody || (!tokens.AreNeeded && !listener.HasAccepted(context))
                ? ProblemAnswer.WriteNotFoundAsync(context)
                : calls.PassAsync(
                    context, tokens.Authenticate(context), Role.Read, next, orPayer: readers == Readers.Payers);
        });
    }

    /// <summary>For payers, on every listener; for everybody while no token pays.</summary>
    public static RouteGroupBuilder MapPayGroup(this IEndpointRouteBuilder routes)
    {
        var tokens = routes.ServiceProvider.GetRequiredService<AdminTokens>();
        var metrics = routes.ServiceProvider.GetRequiredService<GatewayMetrics>();
        return routes.MapGroup("").Wrap(next => context =>
        {
            if (!tokens.PayersAreNeeded)
                return next(context);

            var by = tokens.Authenticate(context);
            if (by?.Payer is { Number: > 0 } payer)
            {
                // The endpoint reads it from the connection's own list, so a payment allocates nothing.
                context.Features.Set(payer);
                return next(context);
            }

            metrics.Refused.Add(1, Reasons.Unauthorized);
            return by is null ? tokens.RefuseAsync(context)
                : by.Payer is null ? OperatorCalls.RefuseRoleAsync(context, by, Role.Pay)
                // Its number is not in the ledger yet.
                : ProblemAnswer.WriteUnavailableAsync(context);
        });
    }

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
        this RouteGroupBuilder routes, Func<HttpContext, AdminToken?> authenticate, Role? role, bool orPayer = false)
    {
        var calls = ((IEndpointRouteBuilder)routes).ServiceProvider.GetRequiredService<OperatorCalls>();
        return routes.AnswerWithoutDatabase()
            .Wrap(next => context => calls.PassAsync(context, authenticate(context), role, next, orPayer))
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
