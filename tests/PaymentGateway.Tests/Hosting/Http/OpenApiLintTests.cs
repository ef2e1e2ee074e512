namespace PaymentGateway.Tests.Hosting.Http;

/// <summary>A linter that others wrote finds nothing in openapi.json (tests/linters).</summary>
public sealed class OpenApiLintTests
{
    [LinterFact]
    public async Task The_linter_finds_nothing()
    {
        foreach (var document in new[] { OpenApiDocument.File, Repository.PathOf("docs", "processor-api.yaml") })
        {
            var result = await LintAsync(document);

            Assert.True(result.Succeeded, result.Output + result.Errors);
        }
    }

    [LinterFact]
    public async Task The_linter_finds_what_is_wrong()
    {
        var wrong = Path.Combine(Path.GetTempPath(), $"openapi.{Path.GetRandomFileName()}.json");
        await File.WriteAllTextAsync(wrong, (await File.ReadAllTextAsync(OpenApiDocument.File)).Replace(
            "\"operationId\": \"isReady\"", "\"operationId\": \"isAlive\"", StringComparison.Ordinal));

        var result = await LintAsync(wrong);

        File.Delete(wrong);
        Assert.Equal(1, result.Status);
        Assert.Contains("operation-operationId-unique", result.Output, StringComparison.Ordinal);
    }

    private static Task<ShellResult> LintAsync(string document) =>
        Linters.RunAsync("node", "lint.js", document, "redocly.yaml");
}
