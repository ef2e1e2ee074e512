namespace PaymentGateway.Tests.Dashboard;

/// <summary>Who gets the page, who may do what it does, and what a session opens.</summary>
public sealed class OpsPageTests() : OneGateway($"Admin:Token={Token}")
{
    private const string Token = "0b7c1f6e5a4d3928";
    private const string Host = "gateway:9999";

    [PostgresFact]
    public async Task The_right_token_opens_the_page_and_its_calls_and_a_wrong_one_leads_back_to_the_form()
    {
        using var before = await SendAsync(HttpMethod.Get, "ops");
        Assert.Equal((HttpStatusCode.SeeOther, "ops/sign-in"), (before.StatusCode, LocationOf(before)));
        using var form = await SendAsync(HttpMethod.Get, "ops/sign-in");
        Assert.Contains("type=\"password\"", await form.Content.ReadAsStringAsync(), StringComparison.Ordinal);

        using var wrong = await SignInAsync("wrong");
        Assert.Equal((HttpStatusCode.SeeOther, "sign-in#token"), (wrong.StatusCode, LocationOf(wrong)));
        Assert.False(wrong.Headers.Contains("Set-Cookie"));

        using var right = await SignInAsync(Token);
        Assert.Equal((HttpStatusCode.SeeOther, "../ops"), (right.StatusCode, LocationOf(right)));
        Assert.True(right.Headers.CacheControl?.NoStore);
        var cookie = CookieOf(right);
        using var page = await SendAsync(HttpMethod.Get, "ops", ("Cookie", cookie));
        Assert.Contains("<h1>", await page.Content.ReadAsStringAsync(), StringComparison.Ordinal);
        using var parked = await SendAsync(HttpMethod.Get, "ops/" + PaymentViews.ParkedPath, ("Cookie", cookie));
        Assert.Equal(PaymentViews.NoPayments, await parked.Content.ReadAsStringAsync());

        using var leaving = await SendAsync(
            HttpMethod.Post, "ops/sign-out", ("Cookie", cookie), ("Origin", $"http://{Host}"));
        Assert.Contains("max-age=0", Assert.Single(leaving.Headers.GetValues("Set-Cookie")), StringComparison.Ordinal);
    }

    [PostgresFact]
    public async Task A_session_opens_nothing_but_the_page()
    {
        using var signedIn = await SignInAsync(Token);
        var cookie = CookieOf(signedIn);

        (string, string)[] others = [("GET", "payments"), ("GET", "metrics"), ("POST", "purge-payments")];
        foreach (var (method, path) in others)
        {
            using var answer = await SendAsync(
                new HttpMethod(method), path, ("Cookie", cookie), ("Origin", $"http://{Host}"));
            Assert.Equal((path, HttpStatusCode.Unauthorized), (path, answer.StatusCode));
        }
    }

    [PostgresTheory]
    [InlineData("text/plain", "token=0b7c1f6e5a4d3928")]
    [InlineData("application/x-www-form-urlencoded", "")]
    [InlineData("application/x-www-form-urlencoded", "token=0b7c1f6e5a4d3928&token=0b7c1f6e5a4d3928")]
    [InlineData("application/x-www-form-urlencoded", "%zz=%&=&&&=%00")]
    [InlineData("multipart/form-data", "x")]
    [InlineData("multipart/form-data; boundary=a", "--a\r\nnone")]
    [InlineData("multipart/form-data; boundary=a", "cut off")]
    [InlineData("application/x-www-form-urlencoded", "a&", 2_000)]
    public async Task A_form_that_no_browser_makes_opens_nothing(string type, string body, int times = 1)
    {
        var content = new StringContent(string.Concat(Enumerable.Repeat(body, times)));
        content.Headers.Remove("Content-Type");
        content.Headers.TryAddWithoutValidation("Content-Type", type);

        using var answer = await SendAsync(HttpMethod.Post, "ops/sign-in", content);

        Assert.Equal((HttpStatusCode.SeeOther, "sign-in#token"), (answer.StatusCode, LocationOf(answer)));
    }

    private Task<HttpResponseMessage> SignInAsync(string token) => SendAsync(
        HttpMethod.Post, "ops/sign-in", new FormUrlEncodedContent([new("token", token)]),
        ("Origin", $"http://{Host}"));

    private Task<HttpResponseMessage> SendAsync(
        HttpMethod method, string path, params (string Name, string Value)[] headers) =>
        SendAsync(method, path, null, headers);

    private async Task<HttpResponseMessage> SendAsync(
        HttpMethod method, string path, HttpContent? content, params (string Name, string Value)[] headers)
    {
        using var client = UnixHttp.To(Gateway.Socket, followsRedirects: false);
        using var request = new HttpRequestMessage(method, path) { Content = content };
        request.Headers.Host = Host;
        foreach (var (name, value) in headers)
            request.Headers.Add(name, value);
        return await client.SendAsync(request);
    }

    private static string? LocationOf(HttpResponseMessage answer) => answer.Headers.Location?.OriginalString;

    private static string CookieOf(HttpResponseMessage answer) =>
        Assert.Single(answer.Headers.GetValues("Set-Cookie")).Split(';')[0];
}
