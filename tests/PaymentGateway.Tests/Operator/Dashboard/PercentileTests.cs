using PaymentGateway.Operator.Dashboard;

namespace PaymentGateway.Tests.Operator.Dashboard;

public sealed class PercentileTests
{
    private static readonly double[] Bounds = [1, 2, 5];

    [Theory]
    [InlineData(0.5, new long[] { 10, 0, 0, 0 }, 0.5)]
    [InlineData(0.5, new long[] { 5, 5, 0, 0 }, 1)]
    [InlineData(0.9, new long[] { 5, 5, 0, 0 }, 1.8)]
    [InlineData(0.99, new long[] { 98, 0, 2, 0 }, 3.5)]
    [InlineData(0.5, new long[] { 0, 0, 1, 0 }, 3.5)]
    [InlineData(0.99, new long[] { 1, 0, 0, 9 }, 5)]
    public void It_lies_in_its_bucket_in_proportion(double share, long[] counts, double expected) =>
        Assert.Equal(expected, Percentile.Of(share, Bounds, counts)!.Value, precision: 9);

    [Fact]
    public void Of_nothing_there_is_none() => Assert.Null(Percentile.Of(0.5, Bounds, [0, 0, 0, 0]));

    [Fact]
    public void Histograms_are_added_bucket_by_bucket_and_one_of_another_version_as_far_as_it_goes() =>
        Assert.Equal([4, 6, 3, 4], Percentile.Merge([[1, 2, 3, 4], [3, 4]], 4));
}
