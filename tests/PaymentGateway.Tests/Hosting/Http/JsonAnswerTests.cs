namespace PaymentGateway.Tests.Hosting.Http;

public sealed class JsonAnswerTests() : OneGateway
{
    [PostgresTheory]
    [InlineData("GET", "payments-summary")]
    [InlineData("GET", "payments")]
    [InlineData("GET", "payments/4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3")] // 404.
    [InlineData("GET", "admin/actions")]
    [InlineData("GET", "readyz")]
    [InlineData("GET", "nowhere")]
    [InlineData("PUT", "payments")]
    [InlineData("POST", "admin/parked/replay")]
    [InlineData("POST", "admin/reconciliations")]
    public async Task JSON_is_not_stored_by_caches_nor_taken_for_another_type(string method, string path)
    {
        using var answer = await Gateway.SendAsync(new HttpMethod(method), path);

        Assert.EndsWith("json", answer.Content.Headers.ContentType?.MediaType, StringComparison.Ordinal);
        Assert.Equal("no-store", answer.Headers.CacheControl?.ToString());
        Assert.Equal("nosniff", Assert.Single(answer.Headers.GetValues("X-Content-Type-Options")));
    }
}
