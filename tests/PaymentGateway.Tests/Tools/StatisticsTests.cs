namespace PaymentGateway.Tests.Tools;

/// <summary>What the figures of docs/performance.md are made with.</summary>
public sealed class StatisticsTests
{
    [Theory]
    [InlineData(new[] { 3.0 }, 3)]
    [InlineData(new[] { 9.0, 1, 5 }, 5)]
    [InlineData(new[] { 4.0, 1, 100, 2 }, 3)]
    public void The_median_is_the_middle_one_or_the_mean_of_the_two_in_the_middle(double[] values, double expected) =>
        Assert.Equal(expected, Statistics.Median(values));

    [Fact]
    public void The_median_of_no_values_is_undefined() =>
        Assert.Throws<ArgumentException>(() => Statistics.Median([]));

    [Fact]
    public void A_ratio_is_taken_round_by_round_so_that_a_drift_of_the_machine_cancels_out()
    {
        var ratio = Statistics.RatioOf([(110, 100), (220, 200), (55, 50)]);

        Assert.Equal(1.1, ratio.Mean, precision: 9);
        Assert.Equal(0, ratio.StandardError, precision: 9);
    }

    [Fact]
    public void Twice_and_half_as_much_are_no_difference_with_a_wide_error()
    {
        var ratio = Statistics.RatioOf([(2, 1), (1, 2)]);

        Assert.Equal(1, ratio.Mean, precision: 9);
        // The logarithms are ±ln 2: their standard deviation is ln 2 × √2, and that over √2 for two rounds.
        Assert.Equal(Math.Log(2), ratio.StandardError, precision: 9);
    }

    [Fact]
    public void The_standard_error_is_in_the_unit_of_the_mean()
    {
        var ratio = Statistics.RatioOf([(8, 1), (2, 1)]);

        Assert.Equal(4, ratio.Mean, precision: 9);
        Assert.Equal(4 * Math.Log(2), ratio.StandardError, precision: 9);
    }

    [Fact]
    public void One_round_alone_has_no_standard_error()
    {
        var ratio = Statistics.RatioOf([(3, 2)]);

        Assert.Equal((1.5, 0), (Math.Round(ratio.Mean, 9), ratio.StandardError));
    }
}
