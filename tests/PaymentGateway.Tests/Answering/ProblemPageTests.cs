namespace PaymentGateway.Tests.Answering;

/// <summary>docs/problems.md has a row for each problem that the gateway answers, and no other.</summary>
public sealed partial class ProblemPageTests
{
    [Fact]
    public void Every_problem_has_its_row_with_its_statuses_and_there_is_no_other()
    {
        var written = Directory.EnumerateFiles(
                Repository.PathOf("src", "PaymentGateway"), "*.cs", SearchOption.AllDirectories)
            .SelectMany(file => Answer().Matches(File.ReadAllText(file)))
            .Select(match => (Title: match.Groups["title"].Value, Status: match.Groups["status"].Value))
            // Whatever Kestrel has against a request.
            .SelectMany(answer => answer.Status == "bad.StatusCode"
                ? [answer with { Status = "400" }, answer with { Status = "408" }]
                : new[] { answer })
            .Distinct().GroupBy(answer => answer.Title, answer => answer.Status)
            .Select(answers => $"{Slug(answers.Key)}: {answers.Key}: {string.Join(", ", answers.Order())}");

        var told = Row().Matches(File.ReadAllText(Repository.PathOf("docs", "problems.md")))
            .Select(row => $"{row.Groups["slug"].Value}: {row.Groups["title"].Value}: {row.Groups["status"].Value}");

        Assert.Equal(written.Order(StringComparer.Ordinal), told.Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Every_call_that_writes_a_problem_is_seen_by_this_test()
    {
        var sources = Directory.EnumerateFiles(
            Repository.PathOf("src", "PaymentGateway"), "*.cs", SearchOption.AllDirectories).Select(File.ReadAllText);

        Assert.All(sources, source => Assert.Equal(
            Call().Count(source), Answer().Count(source) - Own().Count(source)));
    }

    private static string Slug(string title) => title.ToLowerInvariant().Replace(' ', '-');

    [GeneratedRegex(@"WriteAsync\(\s*context, (?<status>\d{3}|bad\.StatusCode), ""(?<title>[^""]+)""")]
    private static partial Regex Answer();

    [GeneratedRegex(@"ProblemAnswer\.WriteAsync\(")]
    private static partial Regex Call();

    // Beside its declaration.
    [GeneratedRegex(@"(?<!ProblemAnswer\.)WriteAsync\(context, \d")]
    private static partial Regex Own();

    [GeneratedRegex(@"^\| `(?<slug>[a-z-]+)` \| (?<title>[^|]+?) \| (?<status>[\d, ]+?) \|", RegexOptions.Multiline)]
    private static partial Regex Row();
}
