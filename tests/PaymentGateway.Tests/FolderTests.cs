namespace PaymentGateway.Tests;

/// <summary>The folders of the gateway have an order, and none uses one above it.</summary>
public sealed class FolderTests
{
    private const int RootFilesMax = 5;

    // From the lowest to the highest: each uses only folders above it in this list, and only those beside it.
    private static readonly (string Folder, string[] MayUse)[] Order =
    [
        ("Configuration", []),
        ("Http", []),
        ("Queueing", ["Configuration"]),
        ("Routing", ["Configuration"]),
        ("Storage", ["Configuration"]),
        ("Telemetry", ["Configuration"]),
        ("Leasing", ["Configuration", "Queueing", "Storage", "Telemetry"]),
        ("Retention", ["Configuration", "Storage", "Telemetry"]),
        ("Accepting", ["Configuration", "Http", "Leasing", "Queueing", "Storage", "Telemetry"]),
        ("Processors", ["Configuration", "Leasing", "Routing", "Storage", "Telemetry"]),
        ("Recording", ["Configuration", "Leasing", "Queueing", "Storage", "Telemetry"]),
        ("Admin", ["Accepting", "Configuration", "Http", "Storage"]),
        ("Settling", [
            "Configuration", "Leasing", "Processors", "Queueing", "Recording", "Routing", "Storage", "Telemetry"]),
        ("Summarising", ["Http", "Leasing", "Recording", "Storage", "Telemetry"]),
        ("Dashboard", ["Admin", "Configuration", "Http", "Leasing", "Settling", "Storage", "Telemetry"]),
        ("Reconciliation", [
            "Admin", "Configuration", "Http", "Leasing", "Processors", "Queueing", "Routing", "Settling", "Storage",
            "Telemetry"]),
        ("Hosting", [
            "Accepting", "Admin", "Configuration", "Dashboard", "Http", "Leasing", "Processors", "Queueing",
            "Reconciliation", "Recording", "Retention", "Settling", "Storage", "Summarising", "Telemetry"]),
        ("Cli", [
            "Accepting", "Admin", "Configuration", "Hosting", "Http", "Leasing", "Reconciliation", "Storage",
            "Summarising"]),
    ];

    private static readonly string Root = Repository.PathOf("src", "PaymentGateway");

    [Fact]
    public void The_list_names_every_folder_and_allows_nothing_upwards()
    {
        Assert.Equal(Order.Select(entry => entry.Folder).Order(), Folders());

        for (var at = 0; at < Order.Length; at++)
            Assert.Empty(Order[at].MayUse.Except(Order[..at].Select(entry => entry.Folder)));
    }

    [Fact]
    public void A_folder_uses_exactly_the_folders_that_it_may()
    {
        var uses = Uses();

        Assert.Equal(
            Order.Select(entry => $"{entry.Folder}: {string.Join(' ', entry.MayUse.Order())}"),
            Order.Select(entry => $"{entry.Folder}: {string.Join(' ', uses[entry.Folder].Order())}"));
    }

    [Fact]
    public void No_folder_uses_itself_through_others()
    {
        var uses = Uses();

        Assert.Contains("Storage", uses["Leasing"]);
        Assert.Null(FolderUses.FindCircle(uses));
    }

    [Fact]
    public void The_root_has_few_files_and_its_nouns_use_no_folder()
    {
        var files = Directory.GetFiles(Root, "*.cs");

        Assert.InRange(files.Length, 1, RootFilesMax);
        Assert.All(
            files.Where(file => Path.GetFileName(file) != "Program.cs"),
            file => Assert.Empty(FolderUses.Of(File.ReadLines(file), Folders())));
        Assert.DoesNotContain(
            Directory.GetFiles(Root, "*.cs", SearchOption.AllDirectories),
            file => File.ReadLines(file).Any(line => line.Contains(" Program.", StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData("a>b b>c c>", null)]
    [InlineData("a>bc b>d c>d d>", null)]
    [InlineData("a>a", "a a")]
    [InlineData("a>b b>a", "a b a")]
    [InlineData("a>b b>c c>d d>b", "b c d b")]
    [InlineData("a> b>ca c>d d>ab", "b c d b")]
    public void A_cycle_of_dependencies_is_found(string graph, string? expected)
    {
        var uses = graph.Split(' ').Select(entry => entry.Split('>')).ToDictionary(
            entry => entry[0],
            entry => (IReadOnlySet<string>)entry[1].Select(used => used.ToString()).ToHashSet());

        var circle = FolderUses.FindCircle(uses);

        Assert.Equal(expected, circle is null ? null : string.Join(' ', circle));
    }

    [Theory]
    [InlineData("using PaymentGateway.Storage;", "Storage")]
    [InlineData("using static PaymentGateway.Storage.PaymentStates;", "Storage")]
    [InlineData("    private readonly Storage.PaymentStore store;", "Storage")]
    [InlineData("    Run(PaymentGateway.Storage.PaymentStore.IsUnsettled);", "Storage")]
    [InlineData("    /// <summary>Nothing of Storage. It says so.</summary>", null)]
    [InlineData("    var rate = options.Storage.MaxRate;", null)]
    [InlineData("    var text = \"Storage.Profile\";", null)]
    [InlineData("namespace PaymentGateway.Storage;", null)]
    public void A_use_is_a_using_line_or_a_qualified_name(string line, string? used) =>
        Assert.Equal(used is null ? [] : [used], FolderUses.Of([line], ["Storage", "Leasing"]));

    private static List<string> Folders() => Directory.GetDirectories(Root)
        .Select(Path.GetFileName).OfType<string>().Where(name => name is not ("bin" or "obj")).Order().ToList();

    private static Dictionary<string, IReadOnlySet<string>> Uses()
    {
        var folders = Folders();
        return folders.ToDictionary(folder => folder, folder => (IReadOnlySet<string>)Directory
            .EnumerateFiles(Path.Combine(Root, folder), "*.cs", SearchOption.AllDirectories)
            .SelectMany(file => FolderUses.Of(File.ReadLines(file), folders))
            .Where(used => used != folder).ToHashSet());
    }
}
