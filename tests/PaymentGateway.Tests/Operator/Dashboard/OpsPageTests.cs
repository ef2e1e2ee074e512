namespace PaymentGateway.Tests.Operator.Dashboard;

public sealed class OpsPageTests() : OneGateway($"Admin:Token={Token}")
{
    private const string Token = "0b7c1f6e5a4d3928";
    private const string Host = "gateway:9999";

    // EndToEnd.OpsPageTests have the page itself, and how a session ends.
    [PostgresFact]
    public async Task A_session_opens_nothing_but_the_page()
    {
        using var wrong = await SignInAsync("wrong");
        using var signedIn = await SignInAsync(Token);
        Assert.False(wrong.Headers.Contains("Set-Cookie"));
        Assert.True(signedIn.Headers.CacheControl?.NoStore);
        var cookie = Assert.Single(signedIn.Headers.GetValues("Set-Cookie")).Split(';')[0];

        (string, string)[] others = [("GET", "payments"), ("GET", "metrics"), ("POST", "purge-payments")];
        foreach (var (method, path) in others)
        {
            using var answer = await SendAsync(
                new HttpMethod(method), path, null, ("Cookie", cookie), ("Origin", $"http://{Host}"));
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

        Assert.Equal(
            (HttpStatusCode.SeeOther, "sign-in#token"), (answer.StatusCode, answer.Headers.Location?.OriginalString));
    }

    private Task<HttpResponseMessage> SignInAsync(string token) => SendAsync(
        HttpMethod.Post, "ops/sign-in", new FormUrlEncodedContent([new("token", token)]),
        ("Origin", $"http://{Host}"));

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
}
