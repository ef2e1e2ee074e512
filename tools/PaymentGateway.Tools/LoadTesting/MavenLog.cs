using System.Globalization;
using System.Text.RegularExpressions;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>Why Maven failed: only the first is no fault of ours.</summary>
public enum MavenFailure
{
    NoRepositoryReachable,
    DoesNotCompile,
    Other,
}

/// <summary>Reads what Maven and its like wrote.</summary>
public static partial class MavenLog
{
    private const string Running = "run: ";

    public static MavenFailure ReasonIn(string log)
    {
        if (log.Contains("COMPILATION ERROR", StringComparison.Ordinal))
            return MavenFailure.DoesNotCompile;

        // A repository that answers was reached: it lacks what a wrong pom asks for.
        return Unreachable().IsMatch(log) && !Answered().IsMatch(log)
            ? MavenFailure.NoRepositoryReachable
            : MavenFailure.Other;
    }

    /// <summary>What the simulation says of its progress; null for all other lines.</summary>
    public static string? ProgressIn(string line) =>
        line.StartsWith(Running, StringComparison.Ordinal) ? line[Running.Length..] : null;

    /// <summary>The folder of Gatling's own report, which it names at the end; null when it made none.</summary>
    public static string? ReportFolderIn(string log) => Report().Matches(log) is [.., var last]
        ? Path.GetDirectoryName(last.Groups[1].Value)
        : null;

    /// <summary>What javac says of its version; 0 when it says none.</summary>
    public static int JavaMajor(string version) => JavaVersion().Match(version) is { Success: true } match
        ? int.Parse(match.Groups[1].ValueSpan, CultureInfo.InvariantCulture)
        : 0;

    [GeneratedRegex("Could not transfer|Cannot access .* in offline mode", RegexOptions.IgnoreCase)]
    private static partial Regex Unreachable();

    [GeneratedRegex("Could not find artifact|status code: 4", RegexOptions.IgnoreCase)]
    private static partial Regex Answered();

    [GeneratedRegex("please open the following file: file://(.*)")]
    private static partial Regex Report();

    [GeneratedRegex(@"^javac (?:1\.)?(\d+)")]
    private static partial Regex JavaVersion();
}
