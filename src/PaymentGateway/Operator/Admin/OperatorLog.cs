namespace PaymentGateway.Operator.Admin;

/// <summary>The log of operators' actions: its lines pass no filter, so no level silences them.</summary>
internal sealed class OperatorLog(IEnumerable<ILoggerProvider> providers) : LoggerFactory(providers)
{
    public ILogger Lines => CreateLogger("PaymentGateway.Audit");

    /// <summary>Method and route of a request, such as POST /admin/parked/{id}/replay.</summary>
    public static string ActionOf(HttpContext context) =>
        $"{context.Request.Method} {(context.GetEndpoint() as RouteEndpoint)?.RoutePattern.RawText?.TrimEnd('/')}";

    /// <summary>The client's address; local for a Unix socket without nginx.</summary>
    public static string AddressOf(HttpContext context) =>
        context.Connection.RemoteIpAddress is { } remote
            ? remote.ToString()
            // Only nginx uses a socket for others; it replaces the client's own header (nginx.conf).
            : IPAddress.TryParse(context.Request.Headers["X-Real-IP"].ToString(), out var real)
                ? real.ToString()
                : "local";
}
