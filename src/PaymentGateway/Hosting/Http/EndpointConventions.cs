namespace PaymentGateway.Hosting.Http;

/// <summary>Conventions that endpoints of several stages share.</summary>
internal static class EndpointConventions
{
    /// <summary>Maps GET and HEAD; Kestrel answers a HEAD with headers only.</summary>
    public static IEndpointConventionBuilder MapGetAndHead(
        this IEndpointRouteBuilder routes, string path, RequestDelegate answer) =>
        routes.MapMethods(path, [HttpMethods.Get, HttpMethods.Head], answer);

    /// <summary>Answers 503 where the database fails the call.</summary>
    public static TBuilder AnswerWithoutDatabase<TBuilder>(this TBuilder routes)
        where TBuilder : IEndpointConventionBuilder =>
        routes.Wrap(next => async context =>
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
    public static TBuilder Wrap<TBuilder>(this TBuilder routes, Func<RequestDelegate, RequestDelegate> wrap)
        where TBuilder : IEndpointConventionBuilder
    {
        routes.Add(endpoint => endpoint.RequestDelegate = wrap(endpoint.RequestDelegate!));
        return routes;
    }
}
