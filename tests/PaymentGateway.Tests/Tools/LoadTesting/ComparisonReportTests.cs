using PaymentGateway.Tools.LoadTesting;
using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tests.Tools.LoadTesting;

public sealed class ComparisonReportTests
{
    private static readonly string Report = string.Join('\n', ComparisonReport.Of(
    [
        Ours(lag: 0, p99: 4, payments: 3), Stub("Final", p99: 2), Ours(lag: 7, p99: 6, payments: 5),
        Stub("Preview", p99: 1, side: "stub"),
    ]));

    [Theory]
    [InlineData("| each run | accepted | lag | inconsistencies | net | score | p99Ms | paymentP99Ms |")]
    [InlineData("| final | 100 | 7 | 0 | 1864.65 | 2100.5 | 6 | 5 |")]
    [InlineData("| stub-final | 100 | - | - | - | - | 2 | 2 |")]
    public void Each_run_has_its_lag_inconsistencies_and_money(string row) => Assert.Contains(row, Lines());

    [Theory]
    [InlineData("| final | 0.300 | 5.000 | 4.000 | - |")]
    [InlineData("| stub-final | 0.300 | 2.000 | 2.000 | - |")]
    public void Each_side_has_its_medians(string row) => Assert.Contains(row, Lines());

    [Fact]
    public void The_ratio_is_that_of_the_medians_and_of_the_stub_that_had_the_same_load() => Assert.Equal(
        "final / stub-final, ratio of the medians' p99: 2.50 of every call, 2.00 of the payments alone",
        Assert.Single(Lines(), line => line.Contains(" / ", StringComparison.Ordinal)));

    [Theory]
    [InlineData("| payments' p99 ms, from second | 1 | 30 |")]
    [InlineData("| final | 4.000 | 8.000 |")]
    public void Each_stage_has_its_median(string row) => Assert.Contains(row, Lines());

    private static string[] Lines() => Report.Split('\n');

    private static ComparedRun Ours(int lag, int p99, int payments) => new(
        "final", SideKind.Gateway, RunResult.Of(
            $$"""
            {
              "simulation": "Final", "accepted": 100, "p50Ms": 0.3, "p99Ms": {{p99}}, "paymentP99Ms": {{payments}},
              "lag": {{lag}}, "inconsistencies": 0, "net": 1864.65, "score": 2100.5,
              "stages": [{"fromSecond": 1.0, "p99Ms": {{payments}}}, {"fromSecond": 30.0, "p99Ms": {{2 * payments}}}]
            }
            """));

    private static ComparedRun Stub(string simulation, int p99, string side = "stub-final") => new(
        side, SideKind.Stub, RunResult.Of(
            $$"""
            {
              "simulation": "{{simulation}}", "accepted": 100, "p50Ms": 0.3, "p99Ms": {{p99}}, "paymentP99Ms": {{p99}},
              "stages": [{"fromSecond": 1.0, "p99Ms": {{p99}}}, {"fromSecond": 30.0, "p99Ms": {{p99}}}]
            }
            """));
}
