using System.Xml.Linq;
using PaymentGateway.Tools.Testing;

namespace PaymentGateway.Tests.Tools.Testing;

public sealed class TestResultsTests
{
    [Fact]
    public void Files_are_added_up_and_what_was_not_executed_was_skipped()
    {
        var results = new TestResults([Counted(10, 8, 7), Counted(5, 5, 5)]);

        Assert.Equal("12 passed, 1 failed, 2 skipped", results.Summary);
        Assert.True(results.AnyRan);
    }

    [Fact]
    public void A_run_of_skipped_tests_only_or_without_a_result_file_does_not_count()
    {
        Assert.False(new TestResults([Counted(3, 0, 0)]).AnyRan);
        var nothing = TestResults.In("/nowhere/at/all");
        Assert.False(nothing.AnyRan);
        Assert.Null(nothing.Failed);
    }

    [Fact]
    public void Each_reason_to_skip_is_named_once_with_its_classes_and_a_failure_is_not()
    {
        var results = new TestResults([Ended(
            Result("A.B.FailoverTests.One", "NotExecuted", "lacks root: no networks"),
            Result("A.B.HostsTests.Two(one: 1.5)", "NotExecuted", "lacks root: no networks"),
            Result("A.B.HostsTests.Three", "NotExecuted", "lacks root: no networks"),
            Result("A.B.OtherTests.Four", "NotExecuted", "on no ARM"),
            Result("A.B.RedTests.Five", "Failed", "1 is not 2"),
            Result("A.B.GreenTests.Six", "Passed"))]);

        Assert.Equal(
            ["NOT RUN, lacks root: no networks: FailoverTests, HostsTests", "NOT RUN, on no ARM: OtherTests"],
            results.NotRun);
    }

    [Theory]
    [InlineData("root", true)]
    [InlineData("browser, root", true)]
    [InlineData("browser", false)]
    [InlineData(null, false)]
    public void A_skipped_test_is_allowed_only_when_LACKS_names_its_part(string? lacks, bool expected)
    {
        var parts = SystemSettings.FromEnvironment().With(("LACKS", lacks)).Lacks;

        Assert.Equal(expected, TestResults.IsAllowed("NOT RUN, lacks root: no networks: FailoverTests", parts));
        Assert.False(TestResults.IsAllowed("NOT RUN, on no ARM: OtherTests", parts));
    }

    [Fact]
    public void Failed_tests_are_named_once_by_class_and_method()
    {
        var results = new TestResults([Ended(
            Result("A.B.SomeTests.Fails_for(part: &quot;a.b&quot;)", "Failed"),
            Result("A.B.SomeTests.Fails_for(part: &quot;c&quot;)", "Failed"),
            Result("A.B.AnotherTests.Fails", "Failed"),
            Result("A.B.SomeTests.Passes", "Passed"),
            Result("A.B.SomeTests.Is_skipped", "NotExecuted"))]);

        Assert.Equal(["AnotherTests.Fails", "SomeTests.Fails_for"], results.Failed);
        Assert.Empty(new TestResults([Ended(Result("A.B.C", "Passed"))]).Failed!);
        // No failure is known when no test ended.
        Assert.Null(new TestResults([Ended()]).Failed);
    }

    private static string Result(string name, string outcome, string message = "") => $"""
        <UnitTestResult testName="{name}" outcome="{outcome}">
          <Output><ErrorInfo><Message>{message}</Message></ErrorInfo></Output>
        </UnitTestResult>
        """;

    private static XDocument Ended(params string[] results) => Trx($"<Results>{string.Join('\n', results)}</Results>");

    private static XDocument Counted(int total, int executed, int passed) => Trx($"""
        <ResultSummary outcome="Completed">
          <Counters total="{total}" executed="{executed}" passed="{passed}" failed="{executed - passed}" error="0" />
        </ResultSummary>
        """);

    private static XDocument Trx(string content) => XDocument.Parse(
        $"""<TestRun xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010">{content}</TestRun>""");
}
