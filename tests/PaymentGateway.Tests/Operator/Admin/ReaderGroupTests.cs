namespace PaymentGateway.Tests.Operator.Admin;

/// <summary>Callers that may read the summary, the documents and the metrics.</summary>
public sealed class ReaderGroupTests : OwnRig
{
    private const string Shop = "a token of the shop";
    private const string Scraper = "a token of a scraper";
    private const string Reader = "a token that reads";

    private static readonly string[] Payers = [$"Admin:Tokens:shop:Token={Shop}", "Admin:Tokens:shop:Role=Pay"];

    private static readonly string[] Operators =
    [
        $"Admin:Tokens:reader:Token={Reader}", $"Admin:Tokens:scraper:Token={Scraper}",
        "Admin:Tokens:scraper:Role=Metrics",
    ];

    private static readonly string[] Paths = ["payments-summary", "docs", "openapi.json"];

    [PostgresTheory]
    [InlineData("", false, 200, 200, 200, 200)]
    [InlineData("", true, 401, 403, 403, 200)]
    [InlineData("Everyone", true, 200, 200, 200, 200)]
    [InlineData("Payers", true, 401, 200, 403, 200)]
    [InlineData("Operators", true, 401, 403, 403, 200)]
    [InlineData("Operators", false, 401, 401, 403, 200)]
    [InlineData("Nobody", true, 404, 404, 404, 404)]
    public async Task The_summary_and_the_documents_are_shown_to_whom_a_setting_names(
        string readers, bool hasPayers, int toNobody, int toPayer, int toScraper, int toReader)
    {
        var gateway = await Rig.StartGatewayAsync(
        [
            $"Admin:Summary={readers}", $"Admin:Docs={readers}", $"Admin:OpenApi={readers}", .. Operators,
            .. hasPayers ? Payers : [],
        ]);

        foreach (var path in Paths)
            Assert.Equal(
                (path, toNobody, toPayer, toScraper, toReader),
                (path, await StatusAsync(gateway, path, null), await StatusAsync(gateway, path, Shop),
                    await StatusAsync(gateway, path, Scraper), await StatusAsync(gateway, path, Reader)));
    }

    [PostgresFact]
    public async Task Each_has_a_setting_of_its_own_and_without_a_token_operators_read_on_their_listener()
    {
        var gateway = await Rig.StartGatewayAsync("Admin:Summary=Operators", "Admin:OpenApi=Nobody", "Admin:Urls=");

        Assert.Equal(404, await StatusAsync(gateway, "payments-summary", null));
        Assert.Equal(404, await StatusAsync(gateway, "openapi.json", null));
        Assert.Equal(200, await StatusAsync(gateway, "docs", null));
        var own = await Rig.StartGatewayAsync("Admin:Summary=Operators");
        Assert.Equal(200, await StatusAsync(own, "payments-summary", null));
    }

    [PostgresFact]
    public async Task A_scraper_reads_the_metrics_and_nothing_else()
    {
        var gateway = await Rig.StartGatewayAsync([.. Operators, .. Payers]);

        Assert.Equal(200, await StatusAsync(gateway, "metrics", Scraper));
        Assert.Equal(200, await StatusAsync(gateway, "metrics", Reader));
        Assert.Equal(403, await StatusAsync(gateway, "metrics", Shop));
        foreach (var path in new[]
        {
            "payments", $"payments/{Guid.NewGuid()}", "events", "admin/actions", "admin/webhooks", "ops/events",
            "ops/payments", "payments-summary",
        })
            Assert.Equal((path, 403), (path, await StatusAsync(gateway, path, Scraper)));
        using var paid = await gateway.PostPaymentAsync(Guid.NewGuid(), token: Scraper);
        Assert.Equal(HttpStatusCode.Forbidden, paid.StatusCode);
    }

    [PostgresFact]
    public async Task A_large_page_is_sent_compressed_only()
    {
        var gateway = await Rig.StartGatewayAsync();

        using var plain = await gateway.AskAsync("docs/swagger-ui.js");
        using var packed = await gateway.AskAsync("docs/swagger-ui.js", ("Accept-Encoding", "gzip"));

        Assert.Equal((HttpStatusCode.NotAcceptable, HttpStatusCode.OK), (plain.StatusCode, packed.StatusCode));
        Assert.Empty(await plain.Content.ReadAsByteArrayAsync());
        Assert.Equal(200, await StatusAsync(gateway, "docs/docs.js", null));
    }

    private static async Task<int> StatusAsync(GatewayHost gateway, string path, string? token)
    {
        using var answer = await gateway.AskAsync(path, token is null ? [] : [("X-Rinha-Token", token)]);
        return (int)answer.StatusCode;
    }
}
