using System.Reflection;
using PaymentGateway.Http;

namespace PaymentGateway.Tests.Http;

/// <summary>docs/problems.md has a row for each problem that the gateway answers, and no other.</summary>
public sealed partial class ProblemPageTests
{
    [Fact]
    public void Every_problem_has_its_row_with_its_statuses_and_there_is_no_other()
    {
        var answered = typeof(Problems).GetFields(BindingFlags.Public | BindingFlags.Static)
            .Select(field => (Problem)field.GetValue(null)!)
            .Select(problem => $"{problem.Type[Problem.TypePrefix.Length..]}: {problem.Title}: {StatusesOf(problem)}");

        var told = Row().Matches(File.ReadAllText(Repository.PathOf("docs", "problems.md")))
            .Select(row => $"{row.Groups["slug"].Value}: {row.Groups["title"].Value}: {row.Groups["status"].Value}");

        Assert.Equal(answered.Order(StringComparer.Ordinal), told.Order(StringComparer.Ordinal));
    }

    // Whatever Kestrel has against a request.
    private static string StatusesOf(Problem problem) =>
        problem == Problems.BadRequest ? "400, 408" : $"{problem.Status}";

    [GeneratedRegex(@"^\| `(?<slug>[a-z-]+)` \| (?<title>[^|]+?) \| (?<status>[\d, ]+?) \|", RegexOptions.Multiline)]
    private static partial Regex Row();
}
