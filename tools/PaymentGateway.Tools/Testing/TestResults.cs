using System.Xml.Linq;

namespace PaymentGateway.Tools.Testing;

/// <summary>What `dotnet test` has written down of a run, in trx files.</summary>
internal sealed class TestResults(IReadOnlyList<XDocument> files)
{
    public bool AnyRan => Count("executed") > 0;

    public string Summary => $"{Count("passed")} passed, {Count("executed") - Count("passed")} failed, "
        + $"{Count("total") - Count("executed")} skipped";

    /// <summary>A line for each reason that begins with NOT RUN, with the classes whose tests have it.</summary>
    public IReadOnlyList<string> NotRun =>
    [
        .. Named("UnitTestResult")
            .Select(result => (
                Class: NameOf(result).Split('.')[0],
                Reason: result.Descendants().FirstOrDefault(one => one.Name.LocalName == "Message")?.Value ?? ""))
            .Where(result => result.Reason.StartsWith("NOT RUN", StringComparison.Ordinal))
            .GroupBy(result => result.Reason, result => result.Class)
            .Select(reason => $"{reason.Key}: {string.Join(", ", reason.Distinct().Order())}"),
    ];

    /// <summary>The failed tests as Class.Method, each once and in order; null when none ran to its end.</summary>
    public IReadOnlyList<string>? Failed => Named("UnitTestResult").ToList() is { Count: > 0 } results
        ? [.. results.Where(result => result.Attribute("outcome")?.Value == "Failed").Select(NameOf)
            .Distinct().Order(StringComparer.Ordinal)]
        : null;

    /// <summary>Of the files below a folder; there may be none.</summary>
    public static TestResults In(string folder) => new(Directory.Exists(folder)
        ? [.. Directory.GetFiles(folder, "*.trx", SearchOption.AllDirectories).Select(XDocument.Load)]
        : []);

    private int Count(string what) => Named("Counters")
        .Sum(counters => int.Parse(counters.Attribute(what)!.Value, CultureInfo.InvariantCulture));

    private IEnumerable<XElement> Named(string name) =>
        files.SelectMany(file => file.Descendants()).Where(element => element.Name.LocalName == name);

    // Without its namespace and, of a theory, its arguments.
    private static string NameOf(XElement result) =>
        string.Join('.', result.Attribute("testName")!.Value.Split('(')[0].Split('.').TakeLast(2));
}
