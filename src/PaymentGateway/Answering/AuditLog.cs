using System.Net;

namespace PaymentGateway.Answering;

/// <summary>The log of operators' actions: its lines pass no filter, so no level silences them.</summary>
internal sealed class AuditLog(IEnumerable<ILoggerProvider> providers) : LoggerFactory(providers)
{
    /// <summary>Its one category.</summary>
    public ILogger Lines => CreateLogger("PaymentGateway.Audit");

    /// <summary>Method and route of a request, such as POST /admin/parked/{id}/replay.</summary>
    public static string ActionOf(HttpContext context) =>
        $"{context.Request.Method} {(context.GetEndpoint() as RouteEndpoint)?.RoutePattern.RawText?.TrimEnd('/')}";

    /// <summary>The address that a request came from; local for one by a Unix socket that nginx did not send.</summary>
    public static string AddressOf(HttpContext context) =>
        context.Connection.RemoteIpAddress is { } remote
            ? remote.ToString()
            // Only nginx comes by a socket for others, and it replaces what a client says (nginx.conf).
            : IPAddress.TryParse(context.Request.Headers["X-Real-IP"].ToString(), out var real)
                ? real.ToString()
                : "local";
}
