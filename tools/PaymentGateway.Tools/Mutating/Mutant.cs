namespace PaymentGateway.Tools.Mutating;

/// <summary>
/// One invariant broken: a patch in tests/mutants. Its first line is the invariant, its second names the tests that
/// should catch it.
/// </summary>
public sealed record Mutant(string Name, string Invariant, IReadOnlyList<string> CaughtBy)
{
    private const string Extension = ".patch";
    private const string CaughtByStart = "Caught by: ";

    /// <summary>The patch itself.</summary>
    public string Path => System.IO.Path.Combine(Folder, Name + Extension);

    private static string Folder => Repository.PathOf("tests", "mutants");

    /// <summary>What the test runner takes for «these tests»: any that has one of the names in its own.</summary>
    public string Filter => FilterOf([this]);

    /// <summary>The tests of several mutants, each once.</summary>
    public static string FilterOf(IEnumerable<Mutant> mutants) => string.Join('|', mutants
        .SelectMany(mutant => mutant.CaughtBy).Distinct().Order(StringComparer.Ordinal)
        .Select(test => $"FullyQualifiedName~{test}"));

    /// <summary>These, or all that there are.</summary>
    /// <exception cref="ToolException">There is none of such a name.</exception>
    public static IReadOnlyList<Mutant> Read(IReadOnlyList<string> names) =>
        (names.Count > 0 ? names : All()).Select(Read).ToList();

    /// <param name="patch">Such as «Acknowledged means…», then «Caught by: .SomeTests. | .OtherTests.Some».</param>
    public static Mutant Parse(string name, string patch)
    {
        var head = patch.Split('\n', 3);
        if (head.Length < 3 || !head[1].StartsWith(CaughtByStart, StringComparison.Ordinal))
            throw new ToolException($"{name}{Extension} does not say in its second line what it is caught by");
        return new Mutant(name, head[0], head[1][CaughtByStart.Length..].Split('|', StringSplitOptions.TrimEntries));
    }

    private static List<string> All() => Directory.GetFiles(Folder, $"*{Extension}")
        .Select(file => System.IO.Path.GetFileNameWithoutExtension(file)).Order(StringComparer.Ordinal).ToList();

    private static Mutant Read(string name)
    {
        var patch = System.IO.Path.Combine(Folder, name + Extension);
        return File.Exists(patch)
            ? Parse(name, File.ReadAllText(patch))
            : throw new ToolException($"no mutant is called {name}");
    }
}

/// <summary>What came of a mutant, as an entry of the list in artifacts/mutants.</summary>
/// <param name="Lines">The tests that turned red, or why none did.</param>
public sealed record MutantEntry(Mutant Mutant, bool Caught, IReadOnlyList<string> Lines)
{
    private const int ShownMax = 3;

    public static MutantEntry CaughtBy(Mutant mutant, IReadOnlyList<string> tests)
    {
        var lines = tests.Take(ShownMax).Select(test => $"`{test}`").ToList();
        if (tests.Count > ShownMax)
            lines.Add($"and {tests.Count - ShownMax} more");
        return new MutantEntry(mutant, true, lines);
    }

    public static MutantEntry Missed(Mutant mutant, string why) => new(mutant, false, [$"**{why}**"]);

    public override string ToString() => string.Join(
        '\n', [$"- `{Mutant.Name}`:", $"  {Mutant.Invariant}", .. Lines.Select(line => $"  - {line}")]);
}
