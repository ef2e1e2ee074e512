namespace PaymentGateway.Http;

/// <summary>Conventions that endpoints of several stages share.</summary>
internal static class EndpointConventions
{
    /// <summary>Maps GET and HEAD; Kestrel answers a HEAD with headers only.</summary>
    public static IEndpointConventionBuilder MapGetAndHead(
        this IEndpointRouteBuilder routes, string path, RequestDelegate answer) =>
        routes.MapMethods(path, [HttpMethods.Get, HttpMethods.Head], answer);

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

    /// <summary>Wraps each endpoint's delegate when the endpoints are made.</summary>
    public static TBuilder Around<TBuilder>(this TBuilder routes, Func<RequestDelegate, RequestDelegate> around)
        where TBuilder : IEndpointConventionBuilder
    {
        routes.Add(endpoint => endpoint.RequestDelegate = around(endpoint.RequestDelegate!));
        return routes;
    }
}
