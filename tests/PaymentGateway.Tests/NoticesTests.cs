using System.Xml.Linq;

namespace PaymentGateway.Tests;

public sealed class NoticesTests
{
    private static readonly string Text = File.ReadAllText(Repository.PathOf("THIRD-PARTY-NOTICES"));

    private static readonly string[] Programs = ["PaymentGateway", "ProcessorSimulator"];
    private static readonly string[] Notices = ["LICENSE", "NOTICE"];
    private static readonly string[] Metadata = ["id", "license", "copyright"];

    private static readonly string? Framework = GatewaySystemSettings.OfShell.Framework;

    [Fact]
    public void Every_linked_package_is_named_with_its_license_and_copyright_and_no_other_one()
    {
        var linked = Programs.SelectMany(LinkedInto).Distinct().ToList();
        var named = Section("NuGet packages");

        Assert.NotEmpty(linked);
        Assert.Empty(linked.Except(named));
        // A later framework has some of them itself.
        if (Framework is null)
            Assert.Empty(named.Except(linked));
    }

    [Fact]
    public void Every_npm_package_is_named_with_its_license_and_copyright_and_no_other_one()
    {
        var needed = Read("src", "PaymentGateway", "package.json")["dependencies"]!.AsObject();
        var locked = Read("src", "PaymentGateway", "package-lock.json")["packages"]!;
        var named = Section("npm packages").Select(line => line.Split("; ")).ToList();

        Assert.Equal(needed.Select(package => package.Key).Order(), named.Select(parts => parts[0]).Order());
        foreach (var parts in named)
        {
            Assert.Equal(locked[$"node_modules/{parts[0]}"]!["license"]!.ToString(), parts[1]);
            var folder = Repository.ArtifactsOf(Framework, "obj", "PaymentGateway", "npm", "node_modules", parts[0]);
            Assert.Contains(
                Notices.Select(name => Path.Combine(folder, name)).Where(File.Exists),
                file => File.ReadAllText(file).Contains(parts[2], StringComparison.Ordinal));
        }
    }

    [Fact]
    public void Every_license_that_is_named_has_its_text()
    {
        foreach (var line in Section("NuGet packages").Concat(Section("npm packages")))
            Assert.Contains($"\n--- {line.Split("; ")[1]} ---\n", Text, StringComparison.Ordinal);
    }

    private static IEnumerable<string> LinkedInto(string project)
    {
        var assets = JsonNode.Parse(File.ReadAllText(
            Repository.ArtifactsOf(Framework, "obj", project, "project.assets.json")))!;
        var folder = assets["packageFolders"]!.AsObject().First().Key;
        foreach (var (id, package) in assets["targets"]!.AsObject().SelectMany(target => target.Value!.AsObject()))
            // One without a file for this framework leaves a placeholder.
            if (package!["runtime"] is JsonObject files && files.Any(file => !file.Key.EndsWith("/_._")))
                yield return NoticeOf(Path.Combine(folder, assets["libraries"]![id]!["path"]!.ToString()));
    }

    private static string NoticeOf(string package)
    {
        var specification = XDocument.Load(Directory.GetFiles(package, "*.nuspec").Single());
        return string.Join("; ", Metadata.Select(name =>
            specification.Descendants().First(element => element.Name.LocalName == name).Value));
    }

    internal static IEnumerable<string> Named(string title) => Section(title).Select(line => line.Split("; ")[0]);

    private static List<string> Section(string title)
    {
        var blocks = Text.Split("\n\n").ToList();
        return blocks[blocks.IndexOf(title) + 1].Split('\n').Select(line => line.Trim()).ToList();
    }

    private static JsonNode Read(params string[] file) => JsonNode.Parse(File.ReadAllText(Repository.PathOf(file)))!;
}
