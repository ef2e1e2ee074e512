namespace PaymentGateway.Tools.Measuring.AbTesting;

/// <summary>One of those that are compared: the shipped system with some variables, perhaps of another clone.</summary>
/// <param name="Root">The clone whose scripts, settings and published binaries are taken.</param>
public sealed record AbVariant(string Name, IReadOnlyDictionary<string, string> Variables, string Root)
{
    private const string CloneName = "CLONE";

    /// <param name="text">NAME[=VARIABLE=VALUE …]</param>
    public static AbVariant Parse(string text)
    {
        var (name, rest) = Split(text);
        var variables = rest.Split(' ', StringSplitOptions.RemoveEmptyEntries).Select(Split)
            .ToDictionary(word => word.Name, word => word.Value);
        variables.Remove(CloneName, out var clone);
        return new AbVariant(name, variables, Path.GetFullPath(clone ?? Repository.Root));
    }

    private static (string Name, string Value) Split(string text) =>
        text.IndexOf('=', StringComparison.Ordinal) is var at and >= 0 ? (text[..at], text[(at + 1)..]) : (text, "");
}
