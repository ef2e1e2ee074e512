using PaymentGateway.Tools.Mutating;

namespace PaymentGateway.Tests.Tools.Mutating;

/// <summary>What is read from the file that the test runner writes.</summary>
public sealed class TestResultsTests
{
    [Fact]
    public void Failed_tests_are_named_once_by_class_and_method()
    {
        var failed = TestResults.Failed(Trx(
            """<UnitTestResult testName="A.B.SomeTests.Fails_for(part: &quot;a.b&quot;)" outcome="Failed" />""",
            """<UnitTestResult testName="A.B.SomeTests.Fails_for(part: &quot;c&quot;)" outcome="Failed" />""",
            """<UnitTestResult testName="A.B.AnotherTests.Fails" outcome="Failed"><Output /></UnitTestResult>""",
            """<UnitTestResult testName="A.B.SomeTests.Passes" outcome="Passed" />""",
            """<UnitTestResult testName="A.B.SomeTests.Is_skipped" outcome="NotExecuted" />"""));

        Assert.Equal(["AnotherTests.Fails", "SomeTests.Fails_for"], failed);
    }

    [Fact]
    public void Where_all_tests_pass_no_failure_is_named() =>
        Assert.Empty(TestResults.Failed(Trx("""<UnitTestResult testName="A.B.C" outcome="Passed" />"""))!);

    [Fact]
    public void Where_no_test_ended_there_is_no_result() => Assert.Null(TestResults.Failed(Trx()));

    [Fact]
    public void Without_a_result_file_no_failure_is_known() =>
        Assert.Null(TestResults.FailedIn(Path.Combine(Path.GetTempPath(), Path.GetRandomFileName())));

    private static string Trx(params string[] results) => $"""
        <TestRun xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010">
          <Results>{string.Join('\n', results)}</Results>
        </TestRun>
        """;
}
