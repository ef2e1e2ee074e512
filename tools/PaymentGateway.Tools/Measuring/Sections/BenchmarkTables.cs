using System.Text.RegularExpressions;

namespace PaymentGateway.Tools.Measuring.Sections;

/// <summary>The tables in what BenchmarkDotNet writes.</summary>
public static partial class BenchmarkTables
{
    /// <summary>A table of its own for each class: their columns differ.</summary>
    public static IEnumerable<string> In(string output)
    {
        foreach (var line in output.Split('\n').Select(line => line.TrimEnd()))
        {
            if (Head().IsMatch(line))
                yield return "";
            if (Head().IsMatch(line) || Rule().IsMatch(line) || Measured().IsMatch(line))
                yield return line;
        }
    }

    [GeneratedRegex(@"^\| *Method")]
    private static partial Regex Head();

    [GeneratedRegex(@"^\|[-|: ]+$")]
    private static partial Regex Rule();

    [GeneratedRegex(@"^\| *[A-Z][A-Za-z]+ ")]
    private static partial Regex Measured();
}
