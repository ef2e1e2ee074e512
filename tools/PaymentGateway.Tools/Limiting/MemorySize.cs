using System.Globalization;
using System.Text.RegularExpressions;

namespace PaymentGateway.Tools.Limiting;

/// <summary>A size as compose files write it: 20M, 20MB, 20mb, 0.1g, 20971520.</summary>
internal static partial class MemorySize
{
    public const long BytesPerMegabyte = 1024 * 1024;

    /// <summary>Whole megabytes, cut off.</summary>
    public static int Megabytes(string text)
    {
        var size = Size().Match(text);
        if (!size.Success)
            throw new ToolException($"'{text}' is no size of memory");
        var number = decimal.Parse(size.Groups[1].Value, CultureInfo.InvariantCulture);
        var bytes = size.Groups[2].Value.ToUpperInvariant() switch
        {
            "K" => number * 1024,
            "M" => number * BytesPerMegabyte,
            "G" => number * 1024 * BytesPerMegabyte,
            _ => number,
        };
        return (int)(bytes / BytesPerMegabyte);
    }

    [GeneratedRegex(@"^\s*(\d+(?:\.\d+)?)\s*([kmg]?)b?\s*$", RegexOptions.IgnoreCase | RegexOptions.CultureInvariant)]
    private static partial Regex Size();
}
