namespace PaymentGateway.Tools.Mutating;

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
