namespace PaymentGateway.Tests.EndToEnd;

[Collection(AlsoOneAfterAnother.Name)]
public sealed class DocsPageTests(RunningSystem running, Browser browser) : IClassFixture<Browser>
{
    [GatewaySystemFact]
    public async Task The_document_is_served_as_it_is_checked_in_by_every_listener()
    {
        var expected = await File.ReadAllTextAsync(OpenApiDocument.File);

        foreach (var listener in new[] { running.System.Client, running.System.Api1, running.System.Api2 })
            Assert.Equal(expected, await listener.GetStringAsync("openapi.json"));
    }

    [BrowserFact]
    public async Task A_browser_shows_every_call_and_every_problem_and_has_nothing_to_complain_of()
    {
        var page = await browser.OpenAsync($"{running.System.Address}docs#payment-exists");

        await page.WaitForSelectorAsync(".opblock-summary-path >> nth=0");
        var calls = await page.EvaluateAsync<string[]>(
            "[...document.querySelectorAll('.opblock-summary-path')].map(call => call.dataset.path)");
        var problems = await page.EvaluateAsync<string[]>(
            "[...document.querySelectorAll('#problems article code')].map(type => type.textContent)");
        var documented = OpenApiDocument.Present.Operations.Select(operation => operation.Path)
            .Concat(OpenApiDocument.Present.Root["webhooks"]!.AsObject().Select(webhook => webhook.Key));
        Assert.Equal(documented.Order(StringComparer.Ordinal), calls.Order(StringComparer.Ordinal));
        Assert.Equal(
            OpenApiDocument.Present.Schemas.Select(schema => $"{schema.Value!["properties"]?["type"]?["const"]}")
                .Where(type => type.StartsWith("urn:", StringComparison.Ordinal)),
            problems);
        await page.WaitForFunctionAsync(
            "document.getElementById('payment-exists').getBoundingClientRect().top < window.innerHeight");

        // A call is tried from the page: its policy allows that.
        await page.ClickAsync("#operations-Health-isReady .opblock-summary");
        await page.ClickAsync("#operations-Health-isReady .try-out__btn");
        await page.ClickAsync("#operations-Health-isReady .execute");
        await page.WaitForSelectorAsync("#operations-Health-isReady .live-responses-table:has-text('kept')");
        Assert.Empty(browser.Faults);
    }
}
