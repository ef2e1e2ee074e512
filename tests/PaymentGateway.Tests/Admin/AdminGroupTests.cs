using Microsoft.AspNetCore.Routing;

namespace PaymentGateway.Tests.Admin;

/// <summary>What each of an operator's calls has, where no token is set.</summary>
public sealed class AdminGroupTests() : OneGateway
{
    [PostgresTheory]
    [InlineData("Origin", "http://evil.example")]
    [InlineData("Origin", "null")]
    [InlineData("Sec-Fetch-Site", "cross-site")]
    public async Task No_page_of_another_host_posts_for_an_operator(string header, string value)
    {
        var paths = OperatorPosts();
        var id = await Gateway.PayAsync();

        foreach (var path in paths)
        {
            using var answer = await Gateway.SendAsync(HttpMethod.Post, path, (header, value));
            Assert.Equal((path, HttpStatusCode.Forbidden), (path, answer.StatusCode));
            Assert.Contains(
                "urn:problem:payment-gateway:cross-site-request", await answer.Content.ReadAsStringAsync(),
                StringComparison.Ordinal);
        }

        Assert.Contains("/purge-payments", paths);
        Assert.Contains("/admin/reconciliations", paths);
        using var kept = await Gateway.AskAsync($"payments/{id}", (header, value));
        Assert.Equal(HttpStatusCode.OK, kept.StatusCode);
    }

    [PostgresFact]
    public async Task A_page_of_the_same_host_and_a_program_may_purge()
    {
        using var page = await Gateway.SendAsync(
            HttpMethod.Post, "purge-payments", ("Host", "gateway.example:9999"),
            ("Origin", "http://gateway.example:9999"), ("Sec-Fetch-Site", "same-origin"));

        Assert.Equal(HttpStatusCode.OK, page.StatusCode);
        Assert.Equal(HttpStatusCode.OK, await Gateway.PurgeAsync());
    }

    // All that are posted to but payments.
    private List<string> OperatorPosts() => Gateway.Part<EndpointDataSource>().Endpoints.OfType<RouteEndpoint>()
        .Where(endpoint => endpoint.Metadata.GetMetadata<HttpMethodMetadata>()?.HttpMethods.Contains("POST") is true)
        .Select(endpoint => endpoint.RoutePattern.RawText!.Replace(
            "{id}", "4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3", StringComparison.Ordinal))
        .Where(path => path != "/payments").ToList();
}
