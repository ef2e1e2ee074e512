using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tests.Tools.Measuring;

public sealed class MachineReadingTests
{
    [Fact]
    public void The_last_result_of_wrk_counts_and_failures_are_not_accepted()
    {
        var result = WrkResult.In("Running 6s test\nresult 1 1.0 1.0 0\nresult 6000 3.125 9.500 60\n");

        Assert.Equal(new WrkResult(6000, 3.125, 9.5, 60), result);
        Assert.Equal(5940, result!.Accepted);
        Assert.Null(WrkResult.In("unable to connect\n"));
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
}
