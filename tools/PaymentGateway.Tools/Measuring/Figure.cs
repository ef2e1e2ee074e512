namespace PaymentGateway.Tools.Measuring;

/// <summary>Figures as tables have them: text with a fixed number of decimals, the same in every country.</summary>
public static class Figure
{
    public static string Of(double value, int decimals) =>
        value.ToString("F" + decimals.ToString(CultureInfo.InvariantCulture), CultureInfo.InvariantCulture);

    public static string Of(long value) => value.ToString(CultureInfo.InvariantCulture);

    /// <summary>A table's row.</summary>
    public static string Row(IEnumerable<string> cells) => $"| {string.Join(" | ", cells)} |";

    /// <summary>A table's first two rows.</summary>
    public static string[] Head(IReadOnlyCollection<string> names) => [Row(names), Row(names.Select(_ => "---"))];
}
