using System.Globalization;
using System.Xml.Linq;

namespace PaymentGateway.Tools.Testing;

/// <summary>How many tests passed, failed and were skipped, as the result files of `dotnet test` count them.</summary>
internal sealed record TestCounts(int Passed, int Failed, int Skipped)
{
    public bool AnyRan => Passed + Failed > 0;

    public string Summary => $"{Passed} passed, {Failed} failed, {Skipped} skipped";

    /// <param name="directory">What is below it in *.trx files is added up.</param>
    /// <exception cref="ToolException">There is none.</exception>
    public static TestCounts Read(string directory) => Add(Load(directory));

    /// <summary>A line for each reason to skip a test, with the classes of these tests.</summary>
    /// <param name="directory">As for <see cref="Read"/>.</param>
    /// <exception cref="ToolException">There is none.</exception>
    public static IReadOnlyList<string> ReadNotRun(string directory) => NotRunIn(Load(directory));

    public static IReadOnlyList<string> NotRunIn(IEnumerable<XDocument> files) =>
    [
        .. files.SelectMany(file => file.Descendants())
            .Where(element => element.Name.LocalName == "UnitTestResult"
                && element.Attribute("outcome")?.Value == "NotExecuted")
            .Select(result => (
                Class: result.Attribute("testName")!.Value.Split('(')[0].Split('.')[^2],
                Reason: result.Descendants().FirstOrDefault(one => one.Name.LocalName == "Message")?.Value ?? ""))
            .GroupBy(result => result.Reason, result => result.Class)
            .Select(reason => $"NOT RUN, {reason.Key}: {string.Join(", ", reason.Distinct().Order())}"),
    ];

    /// <param name="line">One of <see cref="ReadNotRun"/>.</param>
    /// <param name="lacks">The parts that the machine is said to lack.</param>
    public static bool IsAllowed(string line, IEnumerable<string> lacks) =>
        lacks.Any(part => line.StartsWith($"NOT RUN, lacks {part}:", StringComparison.Ordinal));

    public static TestCounts Add(IEnumerable<XDocument> files)
    {
        var (total, executed, passed) = (0, 0, 0);
        foreach (var counters in files.SelectMany(file => file.Descendants())
            .Where(element => element.Name.LocalName == "Counters"))
        {
            total += Count(counters, "total");
            executed += Count(counters, "executed");
            passed += Count(counters, "passed");
        }

        return new TestCounts(passed, executed - passed, total - executed);
    }

    private static List<XDocument> Load(string directory)
    {
        var files = Directory.Exists(directory) ? Directory.GetFiles(directory, "*.trx") : [];
        return files.Length > 0
            ? files.Select(XDocument.Load).ToList()
            : throw new ToolException("the tests left no result file");
    }

    private static int Count(XElement counters, string what) =>
        int.Parse(counters.Attribute(what)!.Value, CultureInfo.InvariantCulture);
}
