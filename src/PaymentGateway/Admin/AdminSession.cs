using PaymentGateway.Configuration;

namespace PaymentGateway.Admin;

/// <summary>
/// A browser that has shown a token, known by a cookie: when it ends, and a signature of that by the token. So every
/// instance knows it and none keeps it, and nobody learns the token from it. It opens the page's own calls alone.
/// </summary>
/// <remarks>
/// The cookie is sent by no page of another site (SameSite=Strict), and what changes something must come from a page of
/// this host besides (<see cref="IsOfOtherSite"/>).
/// </remarks>
internal sealed class AdminSession(AdminTokens tokens, TimeProvider clock)
{
    public const string Cookie = "payment-gateway-ops";

    // What is signed by the same token for another purpose must be no session.
    private const string Purpose = "payment-gateway ops session until ";

    /// <summary>A working day.</summary>
    public static readonly TimeSpan Length = TimeSpan.FromHours(10);

    /// <summary>The token that a request has, or that began its session; null when there is none.</summary>
    public AdminToken? Find(HttpContext context) => tokens.Find(context) ?? OfCookie(context.Request.Cookies[Cookie]);

    /// <summary>Begins a session when a token is a right one.</summary>
    /// <param name="context">Its answer gets the cookie.</param>
    /// <param name="given">The token that a form brought.</param>
    /// <param name="path">Where the cookie is sent to.</param>
    /// <returns>The token; null when it is wrong.</returns>
    public AdminToken? Begin(HttpContext context, string given, string path)
    {
        var token = tokens.Find(context, Encoding.UTF8.GetBytes(given));
        if (token is null || !tokens.AreNeeded)
            return token;

        var until = (clock.GetUtcNow() + Length).ToUnixTimeSeconds().ToString(CultureInfo.InvariantCulture);
        context.Response.Cookies.Append(
            Cookie, $"{until}.{AdminTokens.Sign(token, Purpose + until)}", Options(context, path, Length));
        return token;
    }

    /// <summary>Has the browser forget its session.</summary>
    public static void End(HttpContext context, string path) =>
        context.Response.Cookies.Append(Cookie, "", Options(context, path, TimeSpan.Zero));

    /// <summary>
    /// Whether a browser sent the request for a page of another host. One that says nothing of it is no browser of our
    /// time, and is let through only without a session.
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
        // nginx says so. Who says so falsely has only their own cookie kept from http.
        Secure = context.Request.IsHttps || context.Request.Headers["X-Forwarded-Proto"] == "https",
    };
}
