using System.Xml.Linq;
using PaymentGateway.Tools.Testing;

namespace PaymentGateway.Tests.Tools.Testing;

/// <summary>The last line of `make test`.</summary>
public sealed class TestCountsTests
{
    private const string Namespace = "http://microsoft.com/schemas/VisualStudio/TeamTest/2010";

    [Fact]
    public void Files_are_added_up_and_what_was_not_executed_was_skipped()
    {
        var results = TestCounts.Add([File(10, 8, 7), File(5, 5, 5)]);

        Assert.Equal("12 passed, 1 failed, 2 skipped", results.Summary);
        Assert.True(results.AnyRan);
    }

    [Fact]
    public void A_run_of_skipped_tests_only_does_not_count() => Assert.False(TestCounts.Add([File(3, 0, 0)]).AnyRan);

    [Fact]
    public void A_missing_result_file_is_a_failure() =>
        Assert.Throws<ToolException>(() => TestCounts.Read("/nowhere/at/all"));

    [Fact]
    public void Each_reason_to_skip_is_named_once_with_its_classes_and_a_failure_is_not()
    {
        var results = XDocument.Parse($"""
            <TestRun xmlns="{Namespace}"><Results>
              {Result("A.B.FailoverTests.One", "NotExecuted", "lacks root: no networks")}
              {Result("A.B.HostsTests.Two(one: 1.5)", "NotExecuted", "lacks root: no networks")}
              {Result("A.B.HostsTests.Three", "NotExecuted", "lacks root: no networks")}
              {Result("A.B.OtherTests.Four", "NotExecuted", "on no ARM")}
              {Result("A.B.RedTests.Five", "Failed", "1 is not 2")}
              <UnitTestResult testName="A.B.GreenTests.Six" outcome="Passed" />
            </Results></TestRun>
            """);

        Assert.Equal(
            ["NOT RUN, lacks root: no networks: FailoverTests, HostsTests", "NOT RUN, on no ARM: OtherTests"],
            TestCounts.NotRunIn([results]));
    }

    [Theory]
    [InlineData("root", true)]
    [InlineData("browser, root", true)]
    [InlineData("browser", false)]
    [InlineData(null, false)]
    public void A_skipped_test_is_allowed_only_when_LACKS_names_its_part(string? lacks, bool expected)
    {
        var parts = SystemSettings.FromEnvironment().With(("LACKS", lacks)).Lacks;

        Assert.Equal(expected, TestCounts.IsAllowed("NOT RUN, lacks root: no networks: FailoverTests", parts));
        Assert.False(TestCounts.IsAllowed("NOT RUN, on no ARM: OtherTests", parts));
    }

    private static string Result(string name, string outcome, string message) => $"""
        <UnitTestResult testName="{name}" outcome="{outcome}">
          <Output><ErrorInfo><Message>{message}</Message></ErrorInfo></Output>
        </UnitTestResult>
        """;

    private static XDocument File(int total, int executed, int passed) => XDocument.Parse($"""
        <TestRun xmlns="{Namespace}"><ResultSummary outcome="Completed">
          <Counters total="{total}" executed="{executed}" passed="{passed}" failed="{executed - passed}" error="0" />
        </ResultSummary></TestRun>
        """);
}
