using System.Globalization;

namespace PaymentGateway.Benchmarks;

/// <summary>Numbers of the output, the same in every country.</summary>
internal static class Number
{
    public static string Text(double value, string format) => value.ToString(format, CultureInfo.InvariantCulture);
}
