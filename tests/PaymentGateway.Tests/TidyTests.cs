using System.CodeDom.Compiler;
using System.Reflection;
using PaymentGateway.Tests.EndToEnd;

namespace PaymentGateway.Tests;

/// <summary>The rules of tidiness that a machine can check (docs of style, the definition of tidy).</summary>
public sealed class TidyTests
{
    private static readonly Regex PutOff = new(@"\bTODO\b|\bFIXME\b|^\s*#(end)?region");
    // Unlike a variable it has small letters, and no two underscores at once.
    private static readonly Regex TestName = new("`(?=\\w*[a-z])([A-Z][A-Za-z0-9]*(?:_[A-Za-z0-9]+){2,})`");

    private const int ColumnsMax = 120;
    private const int ParametersMax = 8;

    private static readonly string[] Sources = [.. FilesBelow("src"), .. FilesBelow("tools")];

    private static readonly string[] Tests = FilesBelow("tests");

    private static readonly string[] Pages =
    [
        .. Directory.EnumerateFiles(Repository.Root, "*.md"),
        .. Directory.EnumerateFiles(Repository.PathOf("docs"), "*.md", SearchOption.AllDirectories),
    ];

    private static readonly string[] Assemblies = ["PaymentGateway", "PaymentGateway.Tools", "ProcessorSimulator"];

    [Fact]
    public void No_line_is_longer_than_120_columns() =>
        AssertNone(Lines(Sources.Concat(Tests).Concat(Pages), line => line.Length > ColumnsMax));

    [Fact]
    public void There_is_no_TODO_and_no_region() =>
        AssertNone(Lines(Sources.Concat(Tests.Where(file => !IsThis(file))), line => PutOff.IsMatch(line)));

    // Not counted: loggers, which the framework gives to every type that logs; and records outside Configuration, which
    // are rows, arguments and messages, because a table or the wire decides how many members they have.
    [Fact]
    public void No_constructor_has_more_than_eight_parameters() =>
        AssertNone(Assemblies.SelectMany(name => Assembly.Load(name).GetTypes())
            .Where(type => !type.Name.StartsWith('<') && !type.IsDefined(typeof(GeneratedCodeAttribute), false)
                && (type.Namespace == typeof(GatewayOptions).Namespace || type.GetMethod("<Clone>$") is null))
            .SelectMany(type => type.GetConstructors(
                BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic))
            .Where(made => made.GetParameters()
                .Count(given => !given.ParameterType.IsAssignableTo(typeof(ILogger))) > ParametersMax)
            .Select(made => $"{made.DeclaringType}: {made.GetParameters().Length} parameters"));

    [Fact]
    public void Versions_of_packages_are_in_one_file()
    {
        var projects = Directory.EnumerateFiles(Repository.Root, "*.csproj", SearchOption.AllDirectories)
            .Where(file => !file.Contains("/artifacts/", StringComparison.Ordinal)).ToList();

        Assert.NotEmpty(projects);
        AssertNone(Lines(projects, line => line.Contains("PackageReference", StringComparison.Ordinal)
            && line.Contains("Version", StringComparison.Ordinal)));
    }

    [Fact]
    public void Every_test_that_a_page_names_is_there()
    {
        var tests = typeof(TidyTests).Assembly.GetTypes().SelectMany(type => type.GetMethods())
            .Select(method => method.Name).ToHashSet();
        var named = Pages.SelectMany(page => TestName.Matches(File.ReadAllText(page)))
            .Select(name => name.Groups[1].Value).ToList();

        Assert.True(named.Count > 50);
        AssertNone(named.Where(name => !tests.Contains(name)));
    }

    [Fact]
    public void The_simulator_and_the_gateway_know_nothing_of_each_other() =>
        AssertNone(Lines(FilesBelow("src"), (file, line) =>
        {
            var other = Name(file).Contains("ProcessorSimulator", StringComparison.Ordinal)
                ? "PaymentGateway"
                : "ProcessorSimulator";
            return line.StartsWith("using " + other, StringComparison.Ordinal);
        }));

    [Fact]
    public void Whoever_needs_the_machine_alone_says_so_to_the_script_too()
    {
        var definitions = typeof(TidyTests).Assembly.GetTypes()
            .SelectMany(type => type.GetCustomAttributesData())
            .Where(data => data.AttributeType == typeof(CollectionDefinitionAttribute)
                && data.NamedArguments.Any(given => given.MemberName == "DisableParallelization"))
            .Select(data => (string)data.ConstructorArguments[0].Value!).ToHashSet();
        Assert.Contains(Alone.Name, definitions);

        // A class of minutes is kept apart already, and may share a collection with others.
        AssertNone(typeof(TidyTests).Assembly.GetTypes()
            .Where(type => !Has<TraitAttribute>(type, 1, [LongRunning.Name])
                && Has<CollectionAttribute>(type, 0, definitions) != Has<TraitAttribute>(type, 1, [Alone.Name]))
            .Select(type => $"{type.Name}: a collection that runs alone, and no trait; or the other way round"));
    }

    private static bool Has<TAttribute>(Type type, int argument, IEnumerable<string> values) =>
        type.GetCustomAttributesData().Any(data => data.AttributeType == typeof(TAttribute)
            && values.Contains((string)data.ConstructorArguments[argument].Value!));

    private static IEnumerable<string> Lines(IEnumerable<string> files, Predicate<string> isWrong) =>
        Lines(files, (_, line) => isWrong(line));

    private static IEnumerable<string> Lines(IEnumerable<string> files, Func<string, string, bool> isWrong) =>
        files.SelectMany(file => File.ReadLines(file).Select((line, at) => (Text: line, Number: at + 1))
            .Where(line => isWrong(file, line.Text))
            .Select(line => $"{Name(file)}:{line.Number}: {line.Text.Trim()}"));

    private static void AssertNone(IEnumerable<string> violations)
    {
        var all = violations.ToList();
        Assert.True(all.Count == 0, Environment.NewLine + string.Join(Environment.NewLine, all));
    }

    private static string[] FilesBelow(params string[] parts)
    {
        var files = Directory.EnumerateFiles(Repository.PathOf(parts), "*.cs", SearchOption.AllDirectories)
            .Where(file => !file.Contains("/obj/", StringComparison.Ordinal)
                && !file.Contains("/bin/", StringComparison.Ordinal)).ToArray();
        Assert.NotEmpty(files);
        return files;
    }

    private static bool IsThis(string file) => Path.GetFileName(file) == nameof(TidyTests) + ".cs";

    private static string Name(string file) => Path.GetRelativePath(Repository.Root, file);
}
