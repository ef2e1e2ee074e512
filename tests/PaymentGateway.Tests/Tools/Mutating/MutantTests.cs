using PaymentGateway.Tools.Mutating;

namespace PaymentGateway.Tests.Tools.Mutating;

/// <summary>A mutant's patch, the filter of its tests, and its entry of the list in artifacts/mutants.</summary>
public sealed class MutantTests
{
    private const string Patch = """
        A 422 is success: an earlier call was stored.
        Caught by: .ProcessorClientTests. | .LookUpTests.A_422

        diff --git a/x b/x
        """;

    [Fact]
    public void The_first_line_is_the_invariant_and_the_second_names_the_tests()
    {
        var mutant = Mutant.Parse("some", Patch);

        Assert.Equal("A 422 is success: an earlier call was stored.", mutant.Invariant);
        Assert.Equal([".ProcessorClientTests.", ".LookUpTests.A_422"], mutant.CaughtBy);
    }

    [Fact]
    public void The_filter_matches_any_of_the_named_tests() => Assert.Equal(
        "FullyQualifiedName~.LookUpTests.A_422|FullyQualifiedName~.ProcessorClientTests.",
        Mutant.Parse("some", Patch).Filter);

    [Fact]
    public void The_filter_of_several_mutants_names_each_test_once()
    {
        var one = new Mutant("one", "", [".BTests.", ".ATests."]);
        var two = new Mutant("two", "", [".ATests.", ".CTests."]);

        Assert.Equal(
            "FullyQualifiedName~.ATests.|FullyQualifiedName~.BTests.|FullyQualifiedName~.CTests.",
            Mutant.FilterOf([one, two]));
    }

    [Theory]
    [InlineData("An invariant.\n\ndiff --git a/x b/x")]
    [InlineData("An invariant.")]
    public void A_patch_that_names_no_tests_is_refused(string patch) =>
        Assert.Throws<ToolException>(() => Mutant.Parse("some", patch));

    [Fact]
    public void A_name_that_no_patch_has_is_refused()
    {
        var failure = Assert.Throws<ToolException>(() => Mutant.Read(["nonesuch"]));

        Assert.Equal("no mutant is called nonesuch", failure.Message);
    }

    [Fact]
    public void Three_failed_tests_are_named_and_the_others_counted()
    {
        var some = new Mutant("some", "An invariant.", [".SomeTests."]);

        var entry = MutantEntry.CaughtBy(some, ["A.B", "C.D", "E.F", "G.H", "I.J"]);

        Assert.True(entry.Caught);
        Assert.Equal("- `some`:\n  An invariant.\n  - `A.B`\n  - `C.D`\n  - `E.F`\n  - and 2 more", $"{entry}");
    }

    [Fact]
    public void A_mutant_that_survives_is_reported()
    {
        var entry = MutantEntry.Missed(new Mutant("some", "An invariant.", [".SomeTests."]), "SURVIVES");

        Assert.False(entry.Caught);
        Assert.Equal("- `some`:\n  An invariant.\n  - **SURVIVES**", $"{entry}");
    }

    [Fact]
    public void Each_patch_of_the_repository_names_tests_that_exist()
    {
        var tests = typeof(MutantTests).Assembly.GetTypes()
            .SelectMany(type => type.GetMethods().Select(method => $"{type.FullName}.{method.Name}")).ToList();

        var mutants = Mutant.Read([]);

        Assert.NotEmpty(mutants);
        Assert.All(mutants, mutant => Assert.All(mutant.CaughtBy, needed =>
            Assert.Contains(tests, test => test.Contains(needed, StringComparison.Ordinal))));
    }
}
