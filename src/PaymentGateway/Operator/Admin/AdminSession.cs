namespace PaymentGateway.Operator.Admin;

/// <summary>
/// A browser's session: a cookie with its end, signed by a token. Every instance can check it, none stores it, and it
/// does not contain the token. It admits only the page's own calls.
/// </summary>
/// <remarks>
/// Pages of other sites do not send the cookie (SameSite=Strict). A call that changes something must also come from a
/// page of this host (<see cref="IsOfOtherSite"/>).
/// </remarks>
internal sealed class AdminSession(AdminTokens tokens, TimeProvider clock)
{
    public const string Cookie = "payment-gateway-ops";

    // Otherwise a text that the token signed for another purpose could be a session.
    private const string Purpose = "payment-gateway ops session until ";

    public static readonly TimeSpan Length = TimeSpan.FromHours(10);

    /// <summary>The token that a request has, or that began its session; null when there is none.</summary>
    public AdminToken? Authenticate(HttpContext context) =>
        tokens.Authenticate(context) ?? OfCookie(context.Request.Cookies[Cookie]);

    /// <summary>Sets the cookie for a path when a form's token is right.</summary>
    /// <returns>The token; null when it is wrong.</returns>
    public AdminToken? Begin(HttpContext context, string given, string path)
    {
        var token = tokens.Authenticate(context, AdminToken.AsSent(given));
        if (token is null || !tokens.AreNeeded)
            return token;
        if (!token.Has(Role.Read))
            return null;

        var until = (clock.GetUtcNow() + Length).ToUnixTimeSeconds().ToString(CultureInfo.InvariantCulture);
        context.Response.Cookies.Append(
            Cookie, $"{until}.{AdminTokens.Sign(token, Purpose + until)}", Options(context, path, Length));
        return token;
    }

    public static void End(HttpContext context, string path) =>
        context.Response.Cookies.Append(Cookie, "", Options(context, path, TimeSpan.Zero));

    /// <summary>
    /// Whether a browser sent the request for a page of another host. A client that sends neither header is no current
    /// browser, and may pass only without a session.
    /// </summary>
    public static bool IsOfOtherSite(HttpRequest request)
    {
        var site = request.Headers["Sec-Fetch-Site"].ToString();
        var origin = request.Headers.Origin.ToString();
        if (site.Length > 0 && site != "same-origin")
            return true;
        if (origin.Length > 0)
            return !Uri.TryCreate(origin, UriKind.Absolute, out var page)
                || !page.Authority.Equals(request.Host.Value, StringComparison.OrdinalIgnoreCase);

        return site.Length == 0 && request.Cookies.ContainsKey(Cookie);
    }

    private AdminToken? OfCookie(string? cookie)
    {
        var dot = cookie?.IndexOf('.', StringComparison.Ordinal) ?? -1;
        if (dot < 0)
            return null;

        var until = cookie![..dot];
        return long.TryParse(until, NumberStyles.None, CultureInfo.InvariantCulture, out var ends)
            && clock.GetUtcNow().ToUnixTimeSeconds() < ends
            ? tokens.SignerOf(Purpose + until, cookie[(dot + 1)..])
            : null;
    }

    private static CookieOptions Options(HttpContext context, string path, TimeSpan age) => new()
    {
        HttpOnly = true,
        SameSite = SameSiteMode.Strict,
        Path = path,
        MaxAge = age,
        // nginx sets this header. A client that forges it only keeps its own cookie from http.
        Secure = context.Request.IsHttps || context.Request.Headers["X-Forwarded-Proto"] == "https",
    };
}
