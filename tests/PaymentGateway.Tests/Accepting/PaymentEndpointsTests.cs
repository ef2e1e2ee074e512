using System.Net.Http.Headers;

namespace PaymentGateway.Tests.Accepting;

public sealed class PaymentEndpointsTests() : OneGateway
{
    [PostgresTheory]
    [InlineData("application/json")]
    [InlineData("application/json", "identity")]
    [InlineData("Application/JSON;charset=UTF-8")]
    [InlineData("application/json; charset=utf-8")]
    [InlineData("application/json; charset=\"utf-8\"")]
    [InlineData("application/json; version=1")]
    public async Task Body_in_UTF_8_is_accepted(string mediaType, string? encoding = null)
    {
        using var answer = await PostAsync(mediaType, encoding);

        Assert.Equal(HttpStatusCode.Accepted, answer.StatusCode);
    }

    [PostgresTheory]
    [InlineData("application/json; charset=utf-16")]
    [InlineData("application/json;charset=iso-8859-1")]
    [InlineData("application/json; version=1; charset=\"utf-7\"")]
    [InlineData("application/json; charset=nonsense")]
    [InlineData("application/jsonx")]
    [InlineData("application/x-www-form-urlencoded")]
    [InlineData("text/plain")]
    public Task Body_of_another_type_or_charset_is_refused(string mediaType) =>
        AssertRefusedAsync(PostAsync(mediaType), "Content-Type");

    [PostgresTheory]
    [InlineData("gzip")]
    [InlineData("identity, br")]
    public Task Encoded_body_is_refused(string encoding) =>
        AssertRefusedAsync(PostAsync("application/json", encoding), "Content-Encoding");

    private async Task<HttpResponseMessage> PostAsync(string mediaType, string? encoding = null)
    {
        var payment = $$"""{"correlationId":"{{Guid.NewGuid()}}","amount":1}""";
        using var body = new ByteArrayContent(Encoding.UTF8.GetBytes(payment));
        body.Headers.ContentType = MediaTypeHeaderValue.Parse(mediaType);
        if (encoding is not null)
            body.Headers.TryAddWithoutValidation("Content-Encoding", encoding);
        return await Gateway.PostAsync("payments", body);
    }

    private async Task AssertRefusedAsync(Task<HttpResponseMessage> posted, string field)
    {
        await PaymentViews.AssertProblemAsync(posted, HttpStatusCode.UnsupportedMediaType, field);
        Assert.Equal(0, await Rig.CountStoredAsync());
    }
}
