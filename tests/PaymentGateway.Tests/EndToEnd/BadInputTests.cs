namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Bodies at the limit and unknown paths, through nginx. PaymentRequestTests have more.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class BadInputTests(RunningSystem running) : OnRunningSystem(running)
{
    private const int BodyMax = 4096;

    [GatewaySystemTheory]
    [InlineData(BodyMax + 1, false, true)]
    [InlineData(BodyMax + 1, true, true)]
    [InlineData(100_000, false, true)]
    [InlineData(100_000, true, true)]
    [InlineData(BodyMax + 1, false, false)]
    [InlineData(BodyMax + 1, true, false)]
    public async Task A_body_over_4_KB_is_refused_by_nginx_and_by_the_instance(
        int length, bool chunked, bool throughNginx)
    {
        using var request = Post(LoadDriver.Body(Padded(length)));
        request.Headers.TransferEncodingChunked = chunked;
        // A length is refused before the body is read: who still writes may meet a closed connection, not the answer.
        request.Headers.ExpectContinue = !chunked;

        using var answer = await (throughNginx ? System.Client : System.Api1).RefusesAsync(request, 413);

        Assert.Equal(0, await System.Database.CountAsync("payments"));
    }

    [GatewaySystemFact]
    public async Task A_body_of_4_KB_and_unknown_fields_are_accepted()
    {
        using var request = Post(LoadDriver.Body(Padded(BodyMax)));

        using var answer = await System.Client.SendAsync(request);

        Assert.Equal(HttpStatusCode.Accepted, answer.StatusCode);
    }

    [GatewaySystemTheory]
    [InlineData("GET", "payment")]
    [InlineData("POST", "payments/17/18")]
    [InlineData("GET", "admin/nothing")]
    [InlineData("GET", "admin/parked/1/2/replay")]
    [InlineData("GET", ".problem")]
    public async Task An_unknown_path_is_404(string method, string path)
    {
        using var request = new HttpRequestMessage(new HttpMethod(method), path);

        using var answer = await System.Client.RefusesAsync(request, 404);
    }

    private static HttpRequestMessage Post(HttpContent body) => new(HttpMethod.Post, "payments") { Content = body };

    private static string Padded(int length)
    {
        var shell = $$"""{"correlationId":"{{Guid.NewGuid()}}","amount":19.90,"note":""}""";
        return shell.Insert(shell.Length - 2, new string('x', length - shell.Length));
    }
}
