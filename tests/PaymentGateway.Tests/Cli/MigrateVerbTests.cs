namespace PaymentGateway.Tests.Cli;

public sealed class MigrateVerbTests() : OwnDatabase(new EmptyTestDatabase())
{
    [PostgresFact]
    public async Task Tables_are_brought_to_this_version_once()
    {
        var first = (await MigrateAsync("--json")).ReadJson();
        var second = await MigrateAsync();

        Assert.Equal(Migration.All.Count, first.GetProperty("version").GetInt32());
        Assert.Equal(
            Migration.All.Select(migration => migration.Name),
            first.GetProperty("applied").EnumerateArray().Select(name => name.GetString()));
        Assert.Matches(@$"^version +{Migration.All.Count}\s+applied$", second.Output);
        Assert.Equal(0, second.ExitCode);
    }

    [PostgresFact]
    public async Task The_profile_may_be_given()
    {
        // This server is not durable.
        (await RunAsync("--profile", "durable")).AssertFailed(78, "Gateway__Storage__Profile: is Durable");
        (await RunAsync()).AssertFailed(78, "Gateway__Storage__Profile: is Durable");
        (await RunAsync("--profile", "7")).AssertFailed(78, "Gateway__Storage__Profile: '7'");
        Assert.Equal(0, (await RunAsync("--profile", "unlogged")).ExitCode);
    }

    [PostgresFact]
    public async Task A_table_in_use_all_the_time_ends_with_69()
    {
        await using var holding = await Database.HoldAsync("CREATE TABLE payments (id integer)");

        (await MigrateAsync()).AssertFailed(69, "a table stayed in use, try again");
    }

    [Fact]
    public async Task Without_a_database_it_ends_with_69_and_without_its_name_with_78()
    {
        (await Verb.RunAsync("migrate", "--ledger", "Host=/nowhere;Database=none")).AssertFailed(69, "PostgreSQL: ");
        (await Verb.RunAsync("migrate", "--ledger", "Nonsense=1")).AssertFailed(78, "ConnectionStrings__Ledger");
        (await Verb.RunAsync("migrate")).AssertFailed(78, "ConnectionStrings__Ledger: is required");
    }

    [Theory]
    [InlineData("{ \"ConnectionStrings\": { \"Ledger\": \"Host=/nowhere;Database=none\" } }", 69, "PostgreSQL: ")]
    [InlineData("{ \"ConnectionStrings\": ", 78, "appsettings.json: ")]
    public async Task Appsettings_are_read_as_by_a_start(string file, int exitCode, string why)
    {
        // A process, because the file is that of the working directory.
        var folder = Directory.CreateTempSubdirectory("payment-gateway-tests.");
        await File.WriteAllTextAsync(Path.Combine(folder.FullName, "appsettings.json"), file);

        var run = await ProgramRun.RunAsync(
            ["dotnet", Path.Combine(AppContext.BaseDirectory, "PaymentGateway.dll"), "migrate"], folder.FullName,
            [("DOTNET_ROLL_FORWARD", "Major")]);

        folder.Delete(recursive: true);
        new Verb(run.ExitCode, run.Output.TrimEnd(), run.Errors.TrimEnd()).AssertFailed(exitCode, why);
    }

    private Task<Verb> MigrateAsync(params string[] more) => RunAsync(["--profile", "unlogged", .. more]);

    private Task<Verb> RunAsync(params string[] more) =>
        Verb.RunAsync(["migrate", "--ledger", Database.ConnectionString, .. more]);
}
