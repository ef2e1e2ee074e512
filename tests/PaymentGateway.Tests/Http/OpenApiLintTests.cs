namespace PaymentGateway.Tests.Http;

/// <summary>A linter that others wrote finds nothing in openapi.json (tests/openapi).</summary>
public sealed class OpenApiLintTests
{
    private static readonly string Linter = Repository.PathOf("tests", "openapi");

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

    // Once for each lock file: a test run needs the registry no second time.
    private static async Task<ShellResult> LintAsync(string document)
    {
        var installed = Repository.PathOf("artifacts", "openapi-lint");
        Directory.CreateDirectory(installed);
        var made = await Shell.RunAsync(
        [
            "flock", Path.Combine(installed, "lock"), "sh", "-ec",
            """
            if ! cmp -s "$1/package-lock.json" package-lock.json || ! [ -e installed ]; then
              rm -f installed
              cp "$1/package.json" "$1/package-lock.json" .
              npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier
              touch installed
            fi
            cp "$1/lint.js" "$1/redocly.yaml" .
            """,
            "sh", Linter,
        ], installed);
        Assert.True(made.Succeeded, made.Output + made.Errors);
        return await Shell.RunAsync(["node", "lint.js", document, "redocly.yaml"], installed);
    }

    private sealed class LinterFactAttribute() : NeedsFactAttribute(
        "npm", Programs.Has("npm") && Programs.Has("node") ? null : "lacks npm: eng/setup brings it");
}
