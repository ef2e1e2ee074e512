using Microsoft.AspNetCore.Http;
using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Tests.Operator.Admin;

public sealed class AdminSessionTests
{
    private const string Token = "0b7c1f6e5a4d3928";

    private readonly FakeTimeProvider _clock = new(new DateTimeOffset(2026, 11, 23, 13, 0, 0, TimeSpan.Zero));

    [Fact]
    public void The_cookie_is_hidden_from_scripts_and_other_sites_and_is_not_the_token()
    {
        var written = Begin("http");

        Assert.Equal(
            "payment-gateway-ops; max-age=36000; path=/ops; samesite=strict; httponly",
            string.Concat(written.AsSpan(0, 19), written.AsSpan(written.IndexOf(';'))));
        Assert.DoesNotContain(Token, written, StringComparison.Ordinal);
        Assert.Contains("; secure;", Begin("https"), StringComparison.Ordinal);
        Assert.Contains("; secure;", Begin("http", isHttps: true), StringComparison.Ordinal);
    }

    [Fact]
    public void It_admits_at_every_instance_until_its_end_and_not_after()
    {
        var cookie = CookieOf(Begin("http"));

        Assert.True(Admits(cookie));
        _clock.Advance(AdminSession.Length - TimeSpan.FromSeconds(1));
        Assert.True(Admits(cookie));
        _clock.Advance(TimeSpan.FromSeconds(1));
        Assert.False(Admits(cookie));
    }

    [Fact]
    public void Forged_session_cookies_are_rejected()
    {
        var cookie = CookieOf(Begin("http"));
        var (until, signature) = (cookie.Split('.')[0], cookie.Split('.')[1]);
        var later = (long.Parse(until, CultureInfo.InvariantCulture) + 1).ToString(CultureInfo.InvariantCulture);

        Assert.All(
            new[]
            {
                "", ".", $"{until}.", $"{later}.{signature}", $"{until}.{signature}0", $"{until}.{signature[..^1]}",
                $"0{until}.{signature}", until + signature, Token, $"{until}.{Sign(until)}",
            },
            forged => Assert.False(Admits(forged), forged));
        Assert.False(Admits(cookie, "another token"));
        Assert.Null(Session().Begin(new DefaultHttpContext(), "wrong", "/ops"));
        Assert.Null(Session().Begin(new DefaultHttpContext(), "", "/ops"));
    }

    [Fact]
    public void Where_no_token_is_set_everybody_is_admitted_and_no_cookie_is_made()
    {
        var context = new DefaultHttpContext();
        var session = Session(TestSettings.Read());

        Assert.Same(AdminToken.Anyone, session.Authenticate(context));
        Assert.Same(AdminToken.Anyone, session.Begin(context, "", "/ops"));
        Assert.Empty(context.Response.Headers.SetCookie.ToArray());
    }

    [Theory]
    [InlineData(null, null, false, false)]
    [InlineData(null, null, true, true)]
    [InlineData("same-origin", null, true, false)]
    [InlineData(null, "http://gateway:9999", true, false)]
    [InlineData(null, "https://GATEWAY:9999", true, false)]
    [InlineData("same-origin", "http://gateway:9999", true, false)]
    [InlineData("same-site", "http://gateway:9999", true, true)]
    [InlineData("cross-site", null, false, true)]
    [InlineData("none", null, true, true)]
    [InlineData(null, "http://gateway", true, true)]
    [InlineData(null, "http://gateway:9998", false, true)]
    [InlineData(null, "http://gateway:9999.evil.example", false, true)]
    [InlineData(null, "null", false, true)]
    [InlineData("same-origin", "null", true, true)]
    public void A_post_counts_as_a_strangers_unless_its_browser_says_otherwise(
        string? site, string? origin, bool hasCookie, bool isOther)
    {
        var request = new DefaultHttpContext().Request;
        request.Host = new HostString("gateway:9999");
        if (site is not null)
            request.Headers["Sec-Fetch-Site"] = site;
        if (origin is not null)
            request.Headers.Origin = origin;
        if (hasCookie)
            request.Headers.Cookie = $"{AdminSession.Cookie}=1";

        Assert.Equal(isOther, AdminSession.IsOfOtherSite(request));
    }

    private static GatewayOptions Options(string token = Token) =>
        TestSettings.Read(("Gateway:Admin:Token", token));

    private static string Sign(string text) => AdminTokens.Sign(Options().Operators.Tokens.Single(), text);

    private AdminSession Session(string token = Token) => Session(Options(token));

    private AdminSession Session(GatewayOptions options) =>
        new(new AdminTokens(options, new OperatorLog([]), _clock), _clock);

    private string Begin(string scheme, bool isHttps = false)
    {
        var context = new DefaultHttpContext { Request = { IsHttps = isHttps } };
        context.Request.Headers["X-Forwarded-Proto"] = scheme;
        Assert.NotNull(Session().Begin(context, Token, "/ops"));
        return context.Response.Headers.SetCookie.ToString();
    }

    private static string CookieOf(string written) => written.Split(';')[0].Split('=')[1];

    private bool Admits(string cookie, string token = Token)
    {
        var context = new DefaultHttpContext();
        context.Request.Headers.Cookie = $"{AdminSession.Cookie}={cookie}";
        return Session(token).Authenticate(context) is not null;
    }
}
