namespace PaymentGateway.Tests.Hosting;

/// <summary>Methods as RFC 9110 has them: HEAD beside GET, and an Allow that names what is there.</summary>
public sealed class MethodTests() : OneGateway
{
    [PostgresTheory]
    [InlineData("healthz")]
    [InlineData("readyz")]
    [InlineData("payments/{id}")]
    [InlineData("payments/4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3", HttpStatusCode.NotFound)]
    [InlineData("payments-summary")]
    [InlineData("metrics")]
    [InlineData("ops/uplot.js")]
    public async Task Head_answers_as_Get_without_a_body(string path, HttpStatusCode expected = HttpStatusCode.OK)
    {
        path = path.Replace("{id}", $"{await Gateway.PayAsync()}", StringComparison.Ordinal);

        using var got = await Gateway.AskAsync(path);
        using var headed = await Gateway.SendAsync(HttpMethod.Head, path);

        Assert.Equal((expected, expected), (got.StatusCode, headed.StatusCode));
        Assert.Equal(got.Content.Headers.ContentType, headed.Content.Headers.ContentType);
        Assert.Equal(got.Headers.ETag, headed.Headers.ETag);
        Assert.Equal("", await headed.Content.ReadAsStringAsync());
    }

    [PostgresTheory]
    [InlineData("PUT", "payments", "POST")]
    [InlineData("HEAD", "payments", "POST")]
    [InlineData("TRACE", "payments", "POST")]
    [InlineData("PUT", "Payments/", "POST")]
    [InlineData("TRACE", "payments-summary", "GET, HEAD")]
    [InlineData("DELETE", "healthz", "GET, HEAD")]
    [InlineData("POST", "docs/docs.js", "GET, HEAD")]
    public async Task Allow_names_only_what_this_listener_answers(string method, string path, string allowed)
    {
        var gateway = await Rig.StartGatewayAsync("Admin:Urls=");

        using var answer = await gateway.SendAsync(new HttpMethod(method), path);

        Assert.Equal(HttpStatusCode.MethodNotAllowed, answer.StatusCode);
        Assert.Equal(allowed, string.Join(", ", answer.Content.Headers.Allow));
    }

    [PostgresFact]
    public async Task Allow_names_the_list_for_an_operator()
    {
        using var answer = await Gateway.SendAsync(HttpMethod.Put, "payments");

        Assert.Equal(["GET", "POST"], answer.Content.Headers.Allow);
    }
}
