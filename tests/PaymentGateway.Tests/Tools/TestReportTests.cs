namespace PaymentGateway.Tests.Tools;

/// <summary>The report of eng/test, and the runs that it calls red although every test in them passed.</summary>
public sealed class TestReportTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("test-report.").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task Files_are_added_up_the_slowest_test_comes_first_and_what_was_not_executed_was_skipped()
    {
        Write(
            "one", total: 10, executed: 8, passed: 7,
            Result("A.B.SomeTests.Two(part: &quot;a.b&quot;)", "Passed", "00:00:02.2500000"),
            Result("A.B.SomeTests.One", "Failed", "00:01:01.0000000"));
        Write("two", total: 5, executed: 5, passed: 5, Result("A.B.OtherTests.Three", "Passed", "00:00:10.0400000"));

        var (report, _) = await ReportAsync();

        Assert.Equal(
            [
                "  61.0 s  SomeTests.One", "  10.0 s  OtherTests.Three", "   2.2 s  SomeTests.Two",
                "12 passed, 1 failed, 2 skipped",
            ],
            report);
    }

    [Theory]
    [InlineData("root", true)]
    [InlineData("browser, root", true)]
    [InlineData("browser", false)]
    [InlineData("roo", false)]
    [InlineData(null, false)]
    public async Task A_skipped_test_is_red_unless_LACKS_names_its_part(string? lacks, bool green)
    {
        Write(
            "one", total: 4, executed: 1, passed: 1,
            Result("A.B.HostsTests.Two(one: 1.5)", "NotExecuted", reason: "lacks root: no networks"),
            Result("A.B.HostsTests.Three", "NotExecuted", reason: "lacks root: no networks"),
            Result("A.B.FailoverTests.One", "NotExecuted", reason: "lacks root: no networks"),
            Result("A.B.GreenTests.Six", "Passed"));

        var (report, isGreen) = await ReportAsync(lacks);

        Assert.Equal(
            ["NOT RUN, lacks root: no networks: FailoverTests, HostsTests", "1 passed, 0 failed, 3 skipped"],
            report[^2..]);
        Assert.Equal(green, isGreen);
    }

    [Fact]
    public async Task A_test_that_was_skipped_for_another_reason_is_red()
    {
        Write(
            "one", total: 2, executed: 1, passed: 1,
            Result("A.B.OtherTests.Four", "NotExecuted", reason: "on no ARM"), Result("A.B.GreenTests.Six", "Passed"));

        Assert.False((await ReportAsync("root")).IsGreen);
    }

    [Fact]
    public async Task A_run_without_a_test_or_without_a_result_is_red()
    {
        Assert.False((await ReportAsync()).IsGreen);

        Write(
            "one", total: 1, executed: 0, passed: 0,
            Result("A.B.HostsTests.Two", "NotExecuted", reason: "lacks root: no networks"));

        Assert.False((await ReportAsync("root")).IsGreen);
    }

    private async Task<(string[] Lines, bool IsGreen)> ReportAsync(string? lacks = null)
    {
        var said = await Shell.RunAsync(
            [Repository.PathOf("eng", "test"), "report", _folder],
            variables: new Dictionary<string, string?> { ["LACKS"] = lacks });
        return (said.Output.TrimEnd('\n').Split('\n'), said.Succeeded);
    }

    private void Write(string name, int total, int executed, int passed, params string[] results) => File.WriteAllText(
        Path.Combine(_folder, $"{name}.trx"),
        $"""
        <TestRun xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010">
          <Results>
            {string.Join('\n', results)}
          </Results>
          <ResultSummary outcome="Completed">
            <Counters total="{total}" executed="{executed}" passed="{passed}" failed="{executed - passed}" error="0" />
          </ResultSummary>
        </TestRun>
        """);

    private static string Result(
        string name, string outcome, string duration = "00:00:00.0010000", string reason = "") => $"""
        <UnitTestResult testName="{name}" computerName="vm" duration="{duration}" outcome="{outcome}">
              <Output>
                <ErrorInfo>
                  <Message>{reason}</Message>
                </ErrorInfo>
              </Output>
            </UnitTestResult>
        """;
}
