using System.Xml.Linq;

namespace PaymentGateway.Tools.Mutating;

/// <summary>What the test runner has written down of a run.</summary>
public static class TestResults
{
    private static readonly XNamespace Trx = "http://microsoft.com/schemas/VisualStudio/TeamTest/2010";

    /// <summary>The failed ones as Class.Method, each once and in order; null when none ran to its end.</summary>
    public static IReadOnlyList<string>? Failed(string trx)
    {
        var results = XDocument.Parse(trx).Descendants(Trx + "UnitTestResult").ToList();
        return results.Count == 0
            ? null
            : results.Where(result => result.Attribute("outcome")?.Value == "Failed")
                .Select(result => Short(result.Attribute("testName")!.Value))
                .Distinct().Order(StringComparer.Ordinal).ToList();
    }

    /// <summary>The same of the one file in a folder.</summary>
    public static IReadOnlyList<string>? FailedIn(string folder) => Directory.Exists(folder)
        && Directory.EnumerateFiles(folder, "*.trx", SearchOption.AllDirectories).FirstOrDefault() is { } trx
        ? Failed(File.ReadAllText(trx))
        : null;

    // Without its namespace and, of a theory, its arguments.
    private static string Short(string test) => string.Join('.', test.Split('(')[0].Split('.').TakeLast(2));
}
