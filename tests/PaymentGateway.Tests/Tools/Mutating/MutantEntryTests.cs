using PaymentGateway.Tools.Mutating;

namespace PaymentGateway.Tests.Tools.Mutating;

/// <summary>An entry of the list in artifacts/mutants.</summary>
public sealed class MutantEntryTests
{
    private static readonly Mutant Some = new("some", "An invariant.", [".SomeTests."]);

    [Fact]
    public void Three_failed_tests_are_named_and_the_others_counted()
    {
        var entry = MutantEntry.CaughtBy(Some, ["A.B", "C.D", "E.F", "G.H", "I.J"]);

        Assert.True(entry.Caught);
        Assert.Equal("- `some`:\n  An invariant.\n  - `A.B`\n  - `C.D`\n  - `E.F`\n  - and 2 more", $"{entry}");
    }

    [Fact]
    public void A_mutant_that_survives_is_reported()
    {
        var entry = MutantEntry.Missed(Some, "SURVIVES");

        Assert.False(entry.Caught);
        Assert.Equal("- `some`:\n  An invariant.\n  - **SURVIVES**", $"{entry}");
    }
}
