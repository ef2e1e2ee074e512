using System.IO.Compression;

namespace PaymentGateway.Tests.Hosting.Http;

public sealed class StaticPagesTests : OneGateway
{
    private const string Page = "ops/uplot.js";

    [PostgresFact]
    public async Task A_file_is_sent_compressed_to_who_takes_gzip_and_plain_to_others()
    {
        using var compressed = await Gateway.AskAsync(Page, ("Accept-Encoding", "br, gzip;q=0.5"));
        using var plain = await Gateway.AskAsync(Page);
        using var refused = await Gateway.AskAsync(Page, ("Accept-Encoding", "gzip;q=0"));

        Assert.Equal("gzip", Assert.Single(compressed.Content.Headers.ContentEncoding));
        Assert.Empty(plain.Content.Headers.ContentEncoding);
        Assert.Empty(refused.Content.Headers.ContentEncoding);
        var text = await plain.Content.ReadAsStringAsync();
        Assert.Contains("uPlot", text, StringComparison.Ordinal);
        Assert.Equal(text, await refused.Content.ReadAsStringAsync());
        using var unpacked = new StreamReader(
            new GZipStream(await compressed.Content.ReadAsStreamAsync(), CompressionMode.Decompress), Encoding.UTF8);
        Assert.Equal(text, await unpacked.ReadToEndAsync());
        Assert.True(compressed.Content.Headers.ContentLength < text.Length / 2);
    }

    [PostgresFact]
    public async Task A_file_that_is_known_by_its_tag_is_not_sent_again()
    {
        using var first = await Gateway.AskAsync(Page);
        var tag = first.Headers.ETag!.ToString();
        using var again = await Gateway.AskAsync(Page, ("If-None-Match", $"\"other\", {tag}"));
        using var any = await Gateway.AskAsync(Page, ("If-None-Match", "*"));
        using var other = await Gateway.AskAsync(Page, ("If-None-Match", "W/\"0123456789abcdef\""));

        Assert.Equal(HttpStatusCode.NotModified, again.StatusCode);
        Assert.Equal(tag, again.Headers.ETag!.ToString());
        Assert.Empty(await again.Content.ReadAsByteArrayAsync());
        Assert.Equal(HttpStatusCode.NotModified, any.StatusCode);
        Assert.Equal(HttpStatusCode.OK, other.StatusCode);
        using var another = await Gateway.AskAsync("ops/uplot.css");
        Assert.NotEqual(tag, another.Headers.ETag!.ToString());
    }

    [PostgresFact]
    public async Task A_file_carries_what_keeps_a_browser_from_taking_it_for_more()
    {
        using var answer = await Gateway.AskAsync(Page);

        Assert.Equal("text/javascript; charset=utf-8", answer.Content.Headers.ContentType!.ToString());
        Assert.Equal("nosniff", Assert.Single(answer.Headers.GetValues("X-Content-Type-Options")));
        Assert.Equal("same-origin", Assert.Single(answer.Headers.GetValues("Referrer-Policy")));
        Assert.Equal("no-cache", answer.Headers.CacheControl!.ToString());
        Assert.Equal("Accept-Encoding", answer.Headers.Vary.ToString());
        var policy = Assert.Single(answer.Headers.GetValues("Content-Security-Policy"));
        Assert.Contains("default-src 'none'; script-src 'self';", policy, StringComparison.Ordinal);
        Assert.DoesNotContain("unsafe", policy, StringComparison.Ordinal);
    }

    [PostgresFact]
    public async Task The_root_leads_to_the_description_of_the_calls()
    {
        using var client = UnixHttp.To(Gateway.Socket, followsRedirects: false);

        using var answer = await client.GetAsync("/");

        Assert.Equal((HttpStatusCode.Found, "docs"), (answer.StatusCode, answer.Headers.Location!.OriginalString));
    }

    [PostgresTheory]
    [InlineData("ops/", "../ops")]
    [InlineData("ops/?a=1&b=%20", "../ops?a=1&b=%20")]
    [InlineData("ops/sign-in/", "../sign-in")]
    [InlineData("docs/", "../docs")]
    [InlineData("openapi.json/", "../openapi.json")]
    public async Task A_slash_after_its_path_leads_to_the_path_without_it(string path, string location)
    {
        var guarded = await Rig.StartGatewayAsync("Admin:Token=0b7c1f6e5a4d3928");
        using var client = UnixHttp.To(guarded.Socket, followsRedirects: false);

        using var answer = await client.GetAsync(path);

        Assert.Equal(HttpStatusCode.PermanentRedirect, answer.StatusCode);
        Assert.Equal(location, answer.Headers.Location!.OriginalString);
    }
}
