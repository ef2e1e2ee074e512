namespace PaymentGateway.Tests.Support;

/// <summary>Which folders of a program use which, read from its using lines and qualified names.</summary>
internal static class FolderUses
{
    // A property's name is no use (options.Settling.MaxRate); PaymentGateway.Charging is one.
    private static readonly Regex Qualified = new(
        @"(?<![\w.])(PaymentGateway\.)?(?<folder>[A-Z][a-z]+)(\.(?<within>[A-Z][a-z]+))?(?=[.;])");
    private static readonly Regex Declared = new(@"\b(class|record struct|record|enum|struct|interface) (?<type>\w+)");
    private static readonly Regex Name = new(@"(?<![.\w])[A-Z]\w+");
    private static readonly Regex Text = new(@"""(?:[^""\\]|\\.)*""");

    /// <param name="folders">A folder within another one has both names, such as Operator/Admin.</param>
    public static IEnumerable<string> Of(IEnumerable<string> lines, IReadOnlyCollection<string> folders) => lines
        .Where(line => !line.StartsWith("namespace ", StringComparison.Ordinal))
        .SelectMany(line => Qualified.Matches(WithoutProse(line)).Select(match => FolderOf(match, folders)))
        .OfType<string>().Distinct();

    /// <summary>Whether lines name a type that the lines of a folder declare.</summary>
    public static bool OfTypes(IEnumerable<string> lines, IEnumerable<string> folder)
    {
        var names = folder.SelectMany(line => Declared.Matches(WithoutProse(line)))
            .Select(match => match.Groups["type"].Value).ToHashSet();
        return lines.SelectMany(line => Name.Matches(WithoutProse(line))).Any(match => names.Contains(match.Value));
    }

    /// <summary>The files of a folder that use each other in a circle, or that stand between two circles.</summary>
    /// <param name="files">The lines of each file, by its name.</param>
    public static IEnumerable<string> InCircles(IReadOnlyDictionary<string, string[]> files)
    {
        // The types within a type are its own.
        var uses = files.ToDictionary(file => file.Key, file => files.Keys.Where(other => other != file.Key
            && OfTypes(file.Value, files[other].Where(line => !line.StartsWith(' ')))).ToHashSet());
        // A file that uses no other one, or that no other one uses, is in no circle.
        while (uses.Keys.FirstOrDefault(file => uses[file].Count == 0
            || !uses.Values.Any(used => used.Contains(file))) is { } free)
        {
            uses.Remove(free);
            foreach (var used in uses.Values)
                used.Remove(free);
        }

        return uses.Keys.Order();
    }

    // The second part may be a type; and within Operator the first part may be left out.
    private static string? FolderOf(Match match, IReadOnlyCollection<string> folders)
    {
        var (first, both) = (match.Groups["folder"].Value, $"{match.Groups["folder"]}/{match.Groups["within"]}");
        return folders.FirstOrDefault(folder => folder == both)
            ?? folders.FirstOrDefault(folder => folder == first || folder.EndsWith('/' + first));
    }

    private static string WithoutProse(string line)
    {
        var code = line.IndexOf("//", StringComparison.Ordinal) is >= 0 and var at && !line.Contains("://")
            ? line[..at]
            : line;
        return Text.Replace(code, "");
    }
}
