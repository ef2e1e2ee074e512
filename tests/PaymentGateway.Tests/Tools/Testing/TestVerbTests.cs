using PaymentGateway.Tools.Testing;

namespace PaymentGateway.Tests.Tools.Testing;

public sealed class TestVerbTests
{
    [Fact]
    public void Folders_of_changed_files_are_chosen_once() => Assert.Equal(
        ["Charging.", "Operator."],
        TestVerb.ChangedFolders(
        [
            "src/PaymentGateway/Charging/DoubtResolver.cs", "tests/PaymentGateway.Tests/Charging/LookUpTests.cs",
            "tests/PaymentGateway.Tests/Operator/Admin/ParkedPagerTests.cs", "src/PaymentGateway/Program.cs",
            "docs/testing.md", "",
        ]));

    [Theory]
    [InlineData("postgres/migrations/0001.sql")]
    [InlineData("src/PaymentGateway/Storage/LeaseStore.cs")]
    [InlineData("tests/PaymentGateway.Tests/Support/TestDatabase.cs")]
    public void A_change_of_the_storage_chooses_all_folders(string file) =>
        Assert.Equal([""], TestVerb.ChangedFolders(["src/PaymentGateway/Operator/Admin/AdminSetup.cs", file]));
}
