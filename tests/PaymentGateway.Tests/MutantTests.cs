namespace PaymentGateway.Tests;

public sealed class MutantTests
{
    private const string CaughtBy = "Caught by: ";

    // eng/mutants runs the tests whose names contain one of these. A name that no test contains would leave a mutant
    // without the test that was meant for it.
    [Fact]
    public void Each_patch_names_tests_that_exist()
    {
        var tests = typeof(MutantTests).Assembly.GetTypes()
            .SelectMany(type => type.GetMethods().Select(method => $"{type.FullName}.{method.Name}")).ToList();

        var patches = Directory.GetFiles(Repository.PathOf("tests", "mutants"), "*.patch");

        Assert.NotEmpty(patches);
        Assert.All(patches, patch =>
        {
            var second = File.ReadLines(patch).ElementAt(1);
            Assert.StartsWith(CaughtBy, second, StringComparison.Ordinal);
            Assert.All(second[CaughtBy.Length..].Split('|', StringSplitOptions.TrimEntries), named =>
                Assert.Contains(tests, test => named.Length > 0 && test.Contains(named, StringComparison.Ordinal)));
        });
    }
}
