namespace ProcessorSimulator.Administering;

/// <summary>What the admin calls set and every call looks at; any thread may read and write it.</summary>
internal sealed class Switches(SimulatorOptions options)
{
    private volatile int _delayMilliseconds = options.DelayMilliseconds;
    private volatile bool _failing = options.Failing;
    private volatile string _token = options.Token;

    public int DelayMilliseconds
    {
        get => _delayMilliseconds;
        set => _delayMilliseconds = value;
    }

    public bool Failing
    {
        get => _failing;
        set => _failing = value;
    }

    public string Token
    {
        get => _token;
        set => _token = value;
    }
}

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
