namespace ProcessorSimulator.Administering;

/// <summary>Stands before every admin call: without the right X-Rinha-Token the answer is 401.</summary>
internal sealed class AdminToken(Switches switches)
{
    public RequestDelegate Guard(RequestDelegate call) => context =>
    {
        if (context.Request.Headers["X-Rinha-Token"] == switches.Token)
            return call(context);
        context.Response.StatusCode = StatusCodes.Status401Unauthorized;
        return Task.CompletedTask;
    };
}
