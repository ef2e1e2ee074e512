namespace PaymentGateway.Tools;

/// <summary>The mean of ratios (their geometric one), and how far it may be off.</summary>
public readonly record struct Ratio(double Mean, double StandardError);

/// <summary>What repeated measurements say together.</summary>
public static class Statistics
{
    /// <summary>The middle one, or the mean of the two in the middle.</summary>
    public static double Median(IEnumerable<double> values)
    {
        double[] sorted = [.. values.Order()];
        return sorted.Length == 0
            ? throw new ArgumentException("There is no median of nothing.", nameof(values))
            : (sorted[(sorted.Length - 1) / 2] + sorted[sorted.Length / 2]) / 2;
    }

    /// <summary>
    /// How much of the base the values are, each pair taken from one round: a round's drift is in both and cancels out.
    /// </summary>
    public static Ratio RatioOf(IEnumerable<(double Value, double Base)> rounds)
    {
        // Logarithms, so that twice as much and half as much are equally far from no difference.
        var logarithms = rounds.Select(round => Math.Log(round.Value / round.Base)).ToArray();
        if (logarithms.Length == 0)
            throw new ArgumentException("There is no ratio without a round.", nameof(rounds));

        var mean = logarithms.Average();
        var squares = logarithms.Sum(each => (each - mean) * (each - mean));
        var error = logarithms.Length == 1
            ? 0
            : Math.Sqrt(squares / (logarithms.Length - 1) / logarithms.Length);
        return new Ratio(Math.Exp(mean), Math.Exp(mean) * error);
    }
}
