namespace PaymentGateway.Tests.Support;

/// <summary>Which folders of a program use which, read from its using lines and qualified names.</summary>
internal static partial class FolderUses
{
    public static IEnumerable<string> Of(IEnumerable<string> lines, IReadOnlyCollection<string> folders) => lines
        .Where(line => !line.StartsWith("namespace ", StringComparison.Ordinal))
        .SelectMany(line => Qualified().Matches(WithoutProse(line)).Select(match => match.Groups["folder"].Value))
        .Where(folders.Contains).Distinct();

    private static string WithoutProse(string line)
    {
        var code = line.IndexOf("//", StringComparison.Ordinal) is >= 0 and var at && !line.Contains("://")
            ? line[..at]
            : line;
        return Text().Replace(code, "");
    }

    // A property's name is no use (options.Settling.MaxRate); PaymentGateway.Settling is one.
    [GeneratedRegex(@"(?<![\w.])(PaymentGateway\.)?(?<folder>[A-Z][a-z]+)(?=[.;])")]
    private static partial Regex Qualified();

    [GeneratedRegex(@"""(?:[^""\\]|\\.)*""")]
    private static partial Regex Text();
}
