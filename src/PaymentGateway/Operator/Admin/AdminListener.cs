using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Routing.Matching;

namespace PaymentGateway.Operator.Admin;

/// <summary>
/// Hides an operator's calls from every listener but those of Gateway__Admin__Urls: their paths do not exist there,
/// whatever the method. The connection's local address decides, because a client chooses the Host header. Routing asks
/// only at paths with such a call, so payments cost no more.
/// </summary>
internal sealed class AdminListener(GatewayOptions options, AdminTokens tokens) : MatcherPolicy, INodeBuilderPolicy
{
    /// <summary>Marks an endpoint as an operator's.</summary>
    public static readonly object Only = new();

    /// <summary>Before the check of methods, whose 405 would show that the path exists.</summary>
    public override int Order => -2_000;

    public bool AppliesToEndpoints(IReadOnlyList<Endpoint> endpoints) => endpoints.Any(IsOnly);

    public IReadOnlyList<PolicyNodeEdge> GetEdges(IReadOnlyList<Endpoint> endpoints) =>
    [
        new PolicyNodeEdge(true, endpoints),
        new PolicyNodeEdge(false, endpoints.Where(endpoint => !IsOnly(endpoint)).ToList()),
    ];

    public PolicyJumpTable BuildJumpTable(int exitDestination, IReadOnlyList<PolicyJumpTableEdge> edges) =>
        new JumpTable(this, DestinationOf(true, edges), DestinationOf(false, edges));

    /// <summary>Whether a request came by an operator's listener.</summary>
    public bool HasAccepted(HttpContext context)
    {
        var local = LocalOf(context);
        return options.Instance.Urls.Operators.Any(admin => local switch
        {
            UnixDomainSocketEndPoint socket => admin.IsUnixPipe && admin.UnixPipePath == socket.ToString(),
            IPEndPoint tcp => !admin.IsUnixPipe && admin.Port == tcp.Port,
            _ => false,
        });
    }

    /// <summary>
    /// Whether a request came by an operator's port for an unknown host. A page may make its own name resolve to this
    /// port (DNS rebinding), and the browser would take the gateway for the page's own host. Where a token is set, that
    /// page lacks it, so every host is known.
    /// </summary>
    /// <remarks>ASP.NET's AllowedHosts applies to nginx's listener too, and has no pattern for IP addresses.</remarks>
    public bool IsOfUnknownHost(HttpContext context) =>
        !tokens.AreNeeded
        // Asked for each request, so it is Kestrel's own copy: on a Unix socket there is no address.
        && context.Features.Get<IHttpConnectionFeature>() is { LocalIpAddress: not null } local
        && options.Instance.Urls.Operators.Any(admin => !admin.IsUnixPipe && admin.Port == local.LocalPort)
        && !IsKnown(context.Request.Host.Host ?? "");

    // An IP address cannot be rebound, and a request without a host comes from no browser.
    private bool IsKnown(string host) =>
        host.Length == 0 || IPAddress.TryParse(host, out _)
        || options.Instance.Urls.Operators.Select(admin => admin.Host).Append("localhost")
            .Contains(host, StringComparer.OrdinalIgnoreCase);

    private static EndPoint? LocalOf(HttpContext context) =>
        context.Features.Get<IConnectionSocketFeature>()?.Socket.LocalEndPoint;

    private static int DestinationOf(bool isAdmin, IReadOnlyList<PolicyJumpTableEdge> edges) =>
        edges.Single(edge => isAdmin.Equals(edge.State)).Destination;

    private static bool IsOnly(Endpoint endpoint) => endpoint.Metadata.Contains(Only);

    private sealed class JumpTable(AdminListener listener, int admin, int others) : PolicyJumpTable
    {
        public override int GetDestination(HttpContext httpContext) =>
            listener.HasAccepted(httpContext) ? admin : others;
    }
}
