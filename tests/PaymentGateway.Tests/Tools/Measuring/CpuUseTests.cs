using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tests.Tools.Measuring;

/// <summary>CPU time by part: what a load cost is the difference of two readings, divided by its payments.</summary>
public sealed class CpuUseTests
{
    private static readonly CpuUse Use = new(Nginx: 100, Instances: 300, PostgreSql: 200);

    [Fact]
    public void Both_instances_are_one_figure_and_simulators_do_not_count() => Assert.Equal(
        new CpuUse(1, 2 + 3, 4),
        CpuUse.Of(part => part switch { "nginx" => 1, "api1" => 2, "api2" => 3, "postgres" => 4, _ => 1_000 }));

    [Fact]
    public void Of_two_readings_the_later_less_the_earlier_is_what_was_used() =>
        Assert.Equal(new CpuUse(99, 298, 197), Use - new CpuUse(1, 2, 3));

    [Fact]
    public void The_use_per_payment_is_that_of_each_part_and_without_payments_the_whole()
    {
        Assert.Equal(new CpuUse(0.5, 1.5, 1), Use.Per(200));
        Assert.Equal(Use, Use.Per(0));
        Assert.Equal(Use, Use.Per(1));
    }
}
