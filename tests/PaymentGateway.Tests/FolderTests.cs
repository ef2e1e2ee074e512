namespace PaymentGateway.Tests;

public sealed class FolderTests
{
    private const int RootFilesMax = 5;

    // Folders from the lowest to the highest: each uses exactly the ones beside it, all of which stand above it.
    private static readonly (string Folder, string[] MayUse)[] Order =
    [
        ("Hosting/Configuration", []),
        ("Hosting/Http", []),
        ("Hosting/Telemetry", ["Hosting/Configuration"]),
        ("Storage", ["Hosting/Configuration"]),
        ("Leasing", ["Hosting/Configuration", "Hosting/Telemetry", "Storage"]),
        ("Accepting", ["Hosting/Configuration", "Hosting/Http", "Hosting/Telemetry", "Leasing", "Storage"]),
        ("Recording", ["Hosting/Configuration", "Hosting/Telemetry", "Leasing", "Storage"]),
        ("Charging", [
            "Hosting/Configuration", "Hosting/Http", "Hosting/Telemetry", "Leasing", "Recording", "Storage"]),
        ("Summarising", [
            "Hosting/Configuration", "Hosting/Http", "Hosting/Telemetry", "Leasing", "Recording", "Storage"]),
        ("Operator/Retention", ["Hosting/Configuration", "Hosting/Telemetry", "Storage"]),
        ("Operator/Admin", [
            "Accepting", "Hosting/Configuration", "Hosting/Http", "Hosting/Telemetry", "Storage"]),
        ("Operator/Events", ["Hosting/Http", "Storage"]),
        ("Operator/Webhooks", [
            "Hosting/Configuration", "Hosting/Http", "Hosting/Telemetry", "Operator/Events", "Storage"]),
        ("Operator/Dashboard", [
            "Hosting/Configuration", "Hosting/Http", "Hosting/Telemetry", "Leasing", "Operator/Admin",
            "Storage"]),
        ("Operator/Reconciliation", [
            "Charging", "Hosting/Configuration", "Hosting/Http", "Hosting/Telemetry", "Leasing", "Operator/Admin",
            "Storage"]),
        ("Operator", [
            "Hosting/Configuration", "Hosting/Http", "Hosting/Telemetry", "Operator/Admin", "Operator/Dashboard",
            "Operator/Events", "Operator/Reconciliation", "Operator/Retention", "Operator/Webhooks"]),
        ("Hosting", [
            "Accepting", "Charging", "Hosting/Configuration", "Hosting/Http", "Hosting/Telemetry", "Leasing",
            "Operator", "Operator/Admin", "Operator/Dashboard", "Operator/Retention", "Operator/Webhooks",
            "Recording", "Storage", "Summarising"]),
        ("Cli", [
            "Accepting", "Charging", "Hosting", "Hosting/Configuration", "Hosting/Http", "Hosting/Telemetry",
            "Leasing", "Operator/Admin", "Operator/Reconciliation", "Operator/Webhooks", "Storage", "Summarising"]),
    ];

    // The project file names these for all files, so only the names of their types show a use.
    private static readonly string[] Imported = ["Hosting/Configuration", "Hosting/Http"];

    // Circles of files that stay for now, each with its reason.
    private static readonly string[] KnownCircles =
    [
        // The intake gives its writer what it writes: AcceptResult and PendingAcceptance. A new intake follows.
        "Accepting: Intake.cs IntakeWriter.cs",
    ];

    private static readonly string Root = Repository.PathOf("src", "PaymentGateway");

    [Fact]
    public void The_list_names_every_folder_and_allows_nothing_upwards()
    {
        Assert.Equal(Order.Select(entry => entry.Folder).Order(), Folders());

        for (var at = 0; at < Order.Length; at++)
            Assert.Empty(Order[at].MayUse.Except(Order[..at].Select(entry => entry.Folder)));
    }

    // So no folder uses itself through others: each may use only those above it.
    [Fact]
    public void A_folder_uses_exactly_the_folders_that_it_may()
    {
        var folders = Folders();

        Assert.All(Order, entry => Assert.Equal(
            $"{entry.Folder}: {string.Join(' ', entry.MayUse.Order())}",
            $"{entry.Folder}: {string.Join(' ', UsesOf(entry.Folder, folders).Order())}"));
    }

    [Fact]
    public void The_root_has_few_files_and_its_nouns_use_no_folder()
    {
        var files = Directory.GetFiles(Root, "*.cs");

        Assert.InRange(files.Length, 1, RootFilesMax);
        Assert.All(
            files.Where(file => Path.GetFileName(file) != "Program.cs"),
            file => Assert.Empty(UsesOf(File.ReadAllLines(file), Folders())));
        Assert.DoesNotContain(
            Directory.GetFiles(Root, "*.cs", SearchOption.AllDirectories),
            file => File.ReadLines(file).Any(line => line.Contains(" Program.", StringComparison.Ordinal)));
    }

    // A circle ends when one type moves to another file.
    [Fact]
    public void The_files_of_a_folder_use_each_other_one_way() => Assert.Equal(
        KnownCircles,
        Folders().Append("").Select(folder => (folder, Files: FolderUses.InCircles(
                Directory.GetFiles(Path.Combine(Root, folder), "*.cs")
                    .ToDictionary(file => Path.GetFileName(file), File.ReadAllLines))))
            .Where(one => one.Files.Any()).Select(one => $"{one.folder}: {string.Join(' ', one.Files)}"));

    [Theory]
    [InlineData("Answer", "Report", "", "")]
    [InlineData("Answer", "Report", "Verb", "A B C")]
    [InlineData("Answer", "Verb", "", "A B")]
    [InlineData("Log", "Verb", "", "")]
    public void A_circle_has_the_files_that_lead_back_to_themselves(string a, string b, string c, string circle) =>
        Assert.Equal(circle.Split(' ', StringSplitOptions.RemoveEmptyEntries), FolderUses.InCircles(
            new Dictionary<string, string[]>
            {
                ["A"] = ["internal sealed class Verb", $"    {a}.Write();", "    private static class Log"],
                ["B"] = ["internal static class Answer", $"    {b}.Write();", "    private static class Log"],
                ["C"] = ["internal sealed record Report", $"    {c}.Write();", "    private static class Log"],
            }));

    [Theory]
    [InlineData("    private readonly PaymentStore store;", true)]
    [InlineData("    /// <see cref=\"PaymentStore\"/>", false)]
    [InlineData("    rig.PaymentStore.Close();", false)]
    [InlineData("    private readonly PaymentStores store;", false)]
    public void The_name_of_a_type_is_a_use_of_its_folder(string line, bool used) =>
        Assert.Equal(used, FolderUses.OfTypes([line], ["internal sealed class PaymentStore(Pool pool)"]));

    [Theory]
    [InlineData("using PaymentGateway.Storage;", "Storage")]
    [InlineData("using static PaymentGateway.Storage.Owners;", "Storage")]
    [InlineData("    private readonly Storage.PaymentStore store;", "Storage")]
    [InlineData("    Run(PaymentGateway.Storage.PaymentStore.IsUnsettled);", "Storage")]
    [InlineData("    /// <summary>Nothing of Storage. It says so.</summary>", null)]
    [InlineData("    var rate = options.Storage.MaxRate;", null)]
    [InlineData("    var text = \"Storage.Profile\";", null)]
    [InlineData("namespace PaymentGateway.Storage;", null)]
    [InlineData("    Run(Storage.Migration.All);", "Storage")]
    [InlineData("using PaymentGateway.Operator;", "Operator")]
    [InlineData("using PaymentGateway.Operator.Admin;", "Operator/Admin")]
    [InlineData("    private readonly Admin.PaymentSearch search;", "Operator/Admin")]
    public void A_use_is_a_using_line_or_a_qualified_name(string line, string? used) => Assert.Equal(
        used is null ? [] : [used], FolderUses.Of([line], ["Storage", "Leasing", "Operator", "Operator/Admin"]));

    [Theory]
    [InlineData("src", "PaymentGateway")]
    [InlineData("tests", "PaymentGateway.Tests")]
    public void A_namespace_is_named_after_its_folder(string top, string project)
    {
        var root = Repository.PathOf(top, project);

        Assert.All(CodeBelow(root), file =>
        {
            string[] folders = [project, .. Path.GetRelativePath(root, file).Split('/')[..^1]];
            Assert.All(
                File.ReadLines(file).Where(line => line.StartsWith("namespace ", StringComparison.Ordinal)),
                line => Assert.Equal($"namespace {string.Join('.', folders)};", line));
        });
    }

    // Those with files; a folder within another one is one of its own.
    private static List<string> Folders() => CodeBelow(Root).Select(file => Path.GetDirectoryName(file)!)
        .Where(folder => folder != Root).Distinct().Select(folder => Path.GetRelativePath(Root, folder))
        .Order().ToList();

    private static IEnumerable<string> CodeBelow(string root) => Directory
        .EnumerateFiles(root, "*.cs", SearchOption.AllDirectories)
        .Where(file => Path.GetRelativePath(root, file).Split('/')[0] is not ("bin" or "obj"));

    private static IEnumerable<string> UsesOf(string folder, List<string> folders) =>
        UsesOf(LinesOf(folder), folders).Where(used => used != folder);

    private static IEnumerable<string> UsesOf(string[] lines, List<string> folders) => FolderUses.Of(lines, folders)
        .Union(Imported.Where(folder => FolderUses.OfTypes(lines, LinesOf(folder))));

    private static string[] LinesOf(string folder) => Directory
        .EnumerateFiles(Path.Combine(Root, folder), "*.cs").SelectMany(File.ReadLines).ToArray();
}
