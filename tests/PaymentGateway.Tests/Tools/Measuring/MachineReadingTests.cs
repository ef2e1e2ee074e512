using PaymentGateway.Tools.Measuring;
using PaymentGateway.Tools.Measuring.Load;
using PaymentGateway.Tools.Measuring.Sections;

namespace PaymentGateway.Tests.Tools.Measuring;

/// <summary>Texts of the kernel and of other programs as figures.</summary>
public sealed class MachineReadingTests
{
    [Fact]
    public void CPU_is_user_and_system_time_with_that_of_ended_children_whatever_the_name() => Assert.Equal(
        11 + 12 + 13 + 14,
        PartUse.TicksOf("42 (odd) name)) S 1 42 42 0 -1 4194304 100 0 0 0 11 12 13 14 20 0 1 0 99 0 0"));

    [Theory]
    [InlineData("cpu  100 0 100 800 0 0", "cpu  110 0 110 880 0 0", 20)]
    [InlineData("cpu  100 0 100 800 0 0", "cpu  100 0 100 850 50 0", 0)]
    [InlineData("cpu  100 0 100 800 0 0", "cpu  100 0 100 800 0 0", 100)]
    public void A_machine_is_busy_by_what_is_neither_idle_nor_waits_for_a_disk(
        string before, string after, int expected) => Assert.Equal(expected, MachineIdleness.Percent(before, after));

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
    public void Of_BenchmarkDotNet_only_the_tables_are_kept_one_for_each_class()
    {
        const string output = """
            // * Summary *
            | Method | Mean |
            |------- |-----:|
            | Parse  | 1 ns |
            // * Hints *
            | Method | Mean | Allocated |
            |------- |-----:|----------:|
            | Charge | 2 us | 1 KB |
            """;

        Assert.Equal(
            ["", "| Method | Mean |", "|------- |-----:|", "| Parse  | 1 ns |",
                "", "| Method | Mean | Allocated |", "|------- |-----:|----------:|", "| Charge | 2 us | 1 KB |"],
            BenchmarkTables.In(output));
    }
}
