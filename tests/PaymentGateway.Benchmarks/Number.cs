using System.Globalization;

namespace PaymentGateway.Benchmarks;

/// <summary>Numbers of the command line and of the output, the same in every country.</summary>
internal static class Number
{
    public static double Of(string text) => double.Parse(text, CultureInfo.InvariantCulture);

    public static string Text(double value, string format) => value.ToString(format, CultureInfo.InvariantCulture);
}
