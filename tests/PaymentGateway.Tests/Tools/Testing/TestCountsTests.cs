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

    private static XDocument File(int total, int executed, int passed) => XDocument.Parse($"""
        <TestRun xmlns="{Namespace}"><ResultSummary outcome="Completed">
          <Counters total="{total}" executed="{executed}" passed="{passed}" failed="{executed - passed}" error="0" />
        </ResultSummary></TestRun>
        """);
}
