using PaymentGateway.Tools.Mutating;

namespace PaymentGateway.Tests.Tools.Mutating;

public sealed class MutantTests
{
    private const string Patch = """
        A 422 is success: an earlier call was stored.
        Caught by: .ProcessorClientTests. | .LookUpTests.A_422

        diff --git a/x b/x
        """;

    [Fact]
    public void The_first_line_is_the_invariant_and_the_second_names_the_tests_which_a_filter_names_once()
    {
        var mutant = Mutant.Parse("some", Patch);

        Assert.Equal("A 422 is success: an earlier call was stored.", mutant.Invariant);
        Assert.Equal([".ProcessorClientTests.", ".LookUpTests.A_422"], mutant.CaughtBy);
        Assert.Equal(
            "FullyQualifiedName~.ATests.|FullyQualifiedName~.LookUpTests.A_422"
            + "|FullyQualifiedName~.ProcessorClientTests.",
            Mutant.FilterOf([mutant, new Mutant("other", "", [".ATests.", ".ProcessorClientTests."])]));
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
    public void A_caught_mutant_names_three_failed_tests_and_one_that_survives_is_reported()
    {
        var some = new Mutant("some", "An invariant.", [".SomeTests."]);

        var caught = MutantEntry.CaughtBy(some, ["A.B", "C.D", "E.F", "G.H", "I.J"]);
        var missed = MutantEntry.Missed(some, "SURVIVES");

        Assert.Equal((true, false), (caught.Caught, missed.Caught));
        Assert.Equal("- `some`:\n  An invariant.\n  - `A.B`\n  - `C.D`\n  - `E.F`\n  - and 2 more", $"{caught}");
        Assert.Equal("- `some`:\n  An invariant.\n  - **SURVIVES**", $"{missed}");
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
