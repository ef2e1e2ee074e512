using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tests.Tools.Measuring;

/// <summary>What wrk says, and what is made of it.</summary>
public sealed class MachineReadingTests
{
    [Fact]
    public void The_last_result_of_wrk_counts_and_failures_are_not_accepted()
    {
        var result = WrkResult.In("Running 6s test\nresult 1 1.0 1.0 1.0 0 0\nresult 6000 2.000 3.125 9.500 60 50\n");

        Assert.Equal(new WrkResult(6000, 2, 3.125, 9.5, 60, 50), result);
        Assert.Equal((5940, 2970), (result!.Accepted, result.PerSecond));
    }

    [Fact]
    public void A_wrk_without_output_has_no_result() => Assert.Null(WrkResult.In("unable to connect\n"));

    [Fact]
    public void The_medians_of_a_side_are_a_row_with_its_share_of_the_stub()
    {
        SaturationRun[] runs = [Run("stored", 1000), Run("stored", 4000), Run("stored", 3000)];

        Assert.Equal(
            "| stored | 3000 | 0.500 | 2.000 | 0.006 | 0.001 | 0.003 | 0.002 | 1 | 75 % |",
            SaturationRun.Row("stored", runs, [Run("stub", 4000)]));
        Assert.EndsWith("| 1 |  |", SaturationRun.Row("stored", runs, []), StringComparison.Ordinal);
    }

    private static SaturationRun Run(string side, int perSecond) => new(
        side, new WrkResult(perSecond + 1, 1, 0.5, 2, Failed: 1, Refused: 1), new CpuUse(0.001, 0.003, 0.002));
}
