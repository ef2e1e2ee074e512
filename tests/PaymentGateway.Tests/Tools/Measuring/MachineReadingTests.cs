using PaymentGateway.Tools.LoadTesting;
using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tests.Tools.Measuring;

public sealed class MachineReadingTests
{
    [Fact]
    public void The_last_result_of_wrk_counts_and_failures_are_not_accepted()
    {
        var result = WrkResult.In("Running 6s test\nresult 1 1.0 1.0 1.0 0 0\nresult 6000 2.000 3.125 9.500 60 50\n");

        Assert.Equal(new WrkResult(6000, 2, 3.125, 9.5, 60, 50), result);
        Assert.Equal((5940, 2970), (result!.Accepted, result.PerSecond));
        Assert.Null(WrkResult.In("unable to connect\n"));
    }

    [Fact]
    public void The_medians_of_a_side_are_a_row_with_its_share_of_the_stub()
    {
        SaturationRun[] runs = [Run("stored", 1000), Run("stored", 4000), Run("stored", 3000)];

        Assert.Equal(
            "| stored | 3000 | 0.500 | 2.000 | 0.006 | 0.001 | 0.003 | 0.002 | 1 | 75 % |",
            SaturationRun.Row("stored", runs, [Run("stub", 4000)]));
        Assert.EndsWith("| 1 |  |", SaturationRun.Row("stored", runs, []), StringComparison.Ordinal);
    }

    [Fact]
    public void CPU_time_of_both_instances_is_one_figure_less_the_reading_before_and_divided_by_the_payments()
    {
        var use = CpuUse.Of(
            part => part switch { "nginx" => 100, "api1" => 200, "api2" => 100, "postgres" => 200, _ => 1_000 });

        Assert.Equal(new CpuUse(Nginx: 100, Instances: 300, PostgreSql: 200), use);
        Assert.Equal(new CpuUse(99, 298, 197), use - new CpuUse(1, 2, 3));
        Assert.Equal(new CpuUse(0.5, 1.5, 1), use.Per(200));
        Assert.Equal(use, use.Per(0));
    }

    [Theory]
    [InlineData("\"lag\": 0, \"inconsistencies\": 0", ", lag 0, inconsistencies 0")]
    [InlineData("\"net\": 1", "")]
    public void The_headline_of_a_simulation_has_its_lag_where_there_is_a_ledger(string figures, string lag)
    {
        var run = RunResult.Of(
            $$"""
            {"simulation": "Preview", "mode": "some", "accepted": 16745, "p50Ms": 0.44, "p99Ms": 3.5, {{figures}}}
            """);

        Assert.Equal($"Preview (some): 16745 payments, p50 0.44 ms, p99 3.5 ms{lag}", run.Headline());
        Assert.Empty(run.Stages);
    }

    private static SaturationRun Run(string side, int perSecond) => new(
        side, new WrkResult(perSecond + 1, 1, 0.5, 2, Failed: 1, Refused: 1), new CpuUse(0.001, 0.003, 0.002));
}
