using System.Globalization;

namespace PaymentGateway.Tools.Measuring;

/// <summary>Figures as the rows have them: text with a fixed number of decimals, the same in every country.</summary>
public static class Figure
{
    public static string Of(double value, int decimals) =>
        value.ToString("F" + decimals.ToString(CultureInfo.InvariantCulture), CultureInfo.InvariantCulture);

    public static string Of(long value) => value.ToString(CultureInfo.InvariantCulture);

    /// <summary>The median with the decimals of what it is the median of; what is no number is said once.</summary>
    public static string MedianOf(IReadOnlyList<string> figures)
    {
        if (figures.Count == 0)
            return "";

        var values = new double[figures.Count];
        for (var at = 0; at < figures.Count; at++)
            if (!double.TryParse(figures[at], NumberStyles.Float, CultureInfo.InvariantCulture, out values[at]))
                return string.Join(", ", figures.Distinct());
        return Of(Statistics.Median(values), figures.Max(DecimalsOf));
    }

    private static int DecimalsOf(string figure)
    {
        var point = figure.IndexOf('.', StringComparison.Ordinal);
        return point < 0 ? 0 : figure.Length - point - 1;
    }
}
