using System.Xml.Linq;

namespace PaymentGateway.Tools.Testing;

/// <summary>What `dotnet test` has written down of a run, in trx files.</summary>
internal sealed class TestResults(IReadOnlyList<XDocument> files)
{
    public bool AnyRan => Count("executed") > 0;

    public string Summary => $"{Count("passed")} passed, {Count("executed") - Count("passed")} failed, "
        + $"{Count("total") - Count("executed")} skipped";

    /// <summary>A line for each reason to skip a test, with the classes of these tests.</summary>
    public IReadOnlyList<string> NotRun =>
    [
        .. Named("UnitTestResult").Where(result => result.Attribute("outcome")?.Value == "NotExecuted")
            .Select(result => (
                Class: NameOf(result).Split('.')[0],
                Reason: result.Descendants().FirstOrDefault(one => one.Name.LocalName == "Message")?.Value ?? ""))
            .GroupBy(result => result.Reason, result => result.Class)
            .Select(reason => $"NOT RUN, {reason.Key}: {string.Join(", ", reason.Distinct().Order())}"),
    ];

    /// <summary>The failed tests as Class.Method, each once and in order; null when none ran to its end.</summary>
    public IReadOnlyList<string>? Failed => Named("UnitTestResult").ToList() is { Count: > 0 } results
        ? [.. results.Where(result => result.Attribute("outcome")?.Value == "Failed").Select(NameOf)
            .Distinct().Order(StringComparer.Ordinal)]
        : null;

    /// <param name="line">One of <see cref="NotRun"/>.</param>
    /// <param name="lacks">The parts that the machine is said to lack.</param>
    public static bool IsAllowed(string line, IEnumerable<string> lacks) =>
        lacks.Any(part => line.StartsWith($"NOT RUN, lacks {part}:", StringComparison.Ordinal));

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
