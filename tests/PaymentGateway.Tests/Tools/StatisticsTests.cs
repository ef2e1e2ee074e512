namespace PaymentGateway.Tests.Tools;

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

    // Round by round, so that a drift of the machine cancels out. The logarithms of 2/1 and 1/2 are ±ln 2: their
    // standard deviation is ln 2 × √2, and that over √2 for two rounds.
    [Theory]
    [InlineData(new[] { 110.0, 100, 220, 200, 55, 50 }, 1.1, 0)]
    [InlineData(new[] { 2.0, 1, 1, 2 }, 1, 1)]
    [InlineData(new[] { 8.0, 1, 2, 1 }, 4, 4)]
    [InlineData(new[] { 3.0, 2 }, 1.5, 0)]
    public void A_ratio_is_a_mean_of_the_rounds_with_a_standard_error_in_its_unit(
        double[] rounds, double mean, double errorsOfLn2)
    {
        var ratio = Statistics.RatioOf([.. rounds.Chunk(2).Select(round => (round[0], round[1]))]);

        Assert.Equal(mean, ratio.Mean, precision: 9);
        Assert.Equal(errorsOfLn2 * Math.Log(2), ratio.StandardError, precision: 9);
    }
}
