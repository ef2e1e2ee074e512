using System.Data.Common;

namespace PaymentGateway.Answering;

/// <summary>What every call of an operator has, and what every call has that asks the database itself.</summary>
/// <remarks>
/// Conventions and not endpoint filters: a filter has ASP.NET build the endpoint by reflection, or makes each handler a
/// generated one; a convention puts one delegate around another when the endpoints are made.
/// </remarks>
internal static class AdminGroup
{
    /// <summary>Where an operator's calls are mapped: as below, and on the admin listener only.</summary>
    public static RouteGroupBuilder MapAdminGroup(this IEndpointRouteBuilder routes) =>
        routes.MapTokenGroup().WithMetadata(AdminListener.Only);

    /// <summary>
    /// Where calls are mapped that need the token, on every listener: 401 without it, 503 while PostgreSQL is
    /// unavailable.
    /// </summary>
    public static RouteGroupBuilder MapTokenGroup(this IEndpointRouteBuilder routes)
    {
        var token = routes.ServiceProvider.GetRequiredService<AdminToken>();
        return routes.MapGroup("").AnswersWithoutDatabase().Around(next => async context =>
        {
            if (await token.AdmitsAsync(context))
                await next(context);
        });
    }

    /// <summary>Answers 503 where the database fails the call.</summary>
    public static TBuilder AnswersWithoutDatabase<TBuilder>(this TBuilder routes)
        where TBuilder : IEndpointConventionBuilder =>
        routes.Around(next => async context =>
        {
            try
            {
                await next(context);
            }
            catch (Exception unavailable) when (unavailable is DbException or TimeoutException)
            {
                await ProblemAnswer.WriteUnavailableAsync(context);
            }
        });

    private static TBuilder Around<TBuilder>(this TBuilder routes, Func<RequestDelegate, RequestDelegate> around)
        where TBuilder : IEndpointConventionBuilder
    {
        routes.Add(endpoint => endpoint.RequestDelegate = around(endpoint.RequestDelegate!));
        return routes;
    }
}
