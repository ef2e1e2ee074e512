namespace PaymentGateway.Tests;

/// <summary>A release: one version number, and what a tag publishes.</summary>
public sealed class ReleaseTests
{
    private static readonly Regex Version = new("<Version>(.+)</Version>");
    private static readonly Regex Newest = new(@"^## (\S+)$", RegexOptions.Multiline);

    private static readonly string Number =
        Version.Match(File.ReadAllText(Repository.PathOf("Directory.Build.props"))).Groups[1].Value;

    [Fact]
    public void The_list_of_changes_begins_with_the_version_and_the_description_of_the_calls_has_it()
    {
        Assert.Matches(@"^[0-9]+\.[0-9]+\.[0-9]+$", Number);
        Assert.Equal(Number, Newest.Match(File.ReadAllText(Repository.PathOf("CHANGELOG.md"))).Groups[1].Value);
        Assert.Equal(Number, JsonNode.Parse(File.ReadAllText(OpenApiDocument.File))!["info"]!["version"]!.ToString());
    }

    [GatewaySystemFact]
    public async Task Make_install_puts_the_binary_below_the_prefix()
    {
        var folder = Directory.CreateTempSubdirectory("payment-gateway-install");
        // The outer make, where the tests run in one, is none of this one's business.
        var installed = await ProgramRun.RunAsync(
            [
                "env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "install", "NO_PUBLISH=1",
                $"DESTDIR={folder.FullName}", "PREFIX=/opt/gateway",
            ]);

        var run = await ProgramRun.RunAsync(
            [Path.Combine(folder.FullName, "opt", "gateway", "bin", "PaymentGateway"), "--version"]);

        Assert.Equal((0, 0), (installed.ExitCode, run.ExitCode));
        folder.Delete(recursive: true);
    }

    [LinterFact]
    public async Task The_bill_of_materials_has_the_packages_that_the_notices_name_the_runtime_and_the_base()
    {
        var made = await Shell.RunAsync([Repository.PathOf("eng", "sbom")], Repository.Root);
        Assert.True(made.Succeeded, made.Output + made.Errors);

        var bill = JsonNode.Parse(File.ReadAllText(Repository.PathOf("artifacts", "sbom", "payment-gateway.json")))!;

        var listed = bill["components"]!.AsArray().Select(one => $"{one!["name"]}").ToHashSet();
        var runtime = bill["components"]!.AsArray().Single(
            one => $"{one!["name"]}" == "Microsoft.NETCore.App.Runtime.linux-x64")!["version"];
        Assert.Contains("Microsoft.AspNetCore.App.Runtime.linux-x64", listed);
        Assert.Contains("mcr.microsoft.com/dotnet/runtime-deps", listed);
        // The binary says so itself, with the commit of the runtime.
        if (GatewaySystemParts.SkipReason is null)
            Assert.Contains(
                $"{runtime}+", Encoding.Latin1.GetString(await File.ReadAllBytesAsync(GatewaySystemParts.Gateway)),
                StringComparison.Ordinal);
        Assert.Equal(("CycloneDX", Number), ($"{bill["bomFormat"]}", $"{bill["metadata"]!["component"]!["version"]}"));
        Assert.Empty(NoticesTests.Named("NuGet packages").Concat(NoticesTests.Named("npm packages")).Except(listed));
    }

    [GatewaySystemFact]
    public async Task The_binary_prints_the_version_and_at_most_the_commit()
    {
        var printed = await ProgramRun.RunAsync([GatewaySystemParts.Gateway, "--version"]);

        Assert.Matches($@"^{Regex.Escape(Number)}(\+[0-9a-f]{{40}})?\n$", printed.Output);
    }
}
