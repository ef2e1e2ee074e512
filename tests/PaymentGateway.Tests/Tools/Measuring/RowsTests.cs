using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tests.Tools.Measuring;

/// <summary>Raw figures and their medians.</summary>
public sealed class RowsTests
{
    private readonly Rows _rows = new();

    [Fact]
    public void A_label_measured_several_times_is_one_row_of_medians_with_the_decimals_of_the_figures()
    {
        _rows.Add("rate", "stored", ["0.52", "3.10", "0.449", "0"]);
        _rows.Add("rate", "stub", ["9.99", "9.99", "9.999", "9"]);
        _rows.Add("rate", "stored", ["0.50", "9.00", "0.401", "2"]);
        _rows.Add("rate", "stored", ["0.61", "4.20", "0.455", "0"]);

        Assert.Equal(["0.52", "4.20", "0.449", "0"], _rows.Medians("rate", "stored", ..));
        Assert.Equal(["4.20", "0.449"], _rows.Medians("rate", "stored", 1..3));
    }

    [Fact]
    public void Between_two_figures_is_the_mean()
    {
        _rows.Add("drain", "20", ["1.00"]);
        _rows.Add("drain", "20", ["2.02"]);

        Assert.Equal("1.51", _rows.MedianOf("drain", "20", 0));
    }

    [Fact]
    public void One_verdict_is_printed_and_of_two_different_ones_both()
    {
        _rows.Add("overload", "stored", ["agree"]);
        _rows.Add("overload", "stored", ["agree"]);
        Assert.Equal("agree", _rows.MedianOf("overload", "stored", 0));

        _rows.Add("overload", "stored", ["WRONG"]);
        Assert.Equal("agree, WRONG", _rows.MedianOf("overload", "stored", 0));
    }

    [Fact]
    public void A_figure_that_was_not_measured_is_left_empty()
    {
        Assert.Equal("", _rows.MedianOf("saturation", "stub", 0));
        Assert.Empty(_rows.Medians("saturation", "stub", ..));
    }
}
