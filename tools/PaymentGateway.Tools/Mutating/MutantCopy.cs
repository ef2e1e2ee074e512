using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Mutating;

/// <summary>A clone in which mutants are built and tested; what has not changed is not built again.</summary>
internal sealed class MutantCopy(string folder, SystemSettings settings, CancellationToken cancellation)
{
    private const string Tests = "tests/PaymentGateway.Tests";

    private string Clone => Path.Combine(folder, "copy");

    private string Results => Path.Combine(folder, "results");

    public string BuildLog => Path.Combine(folder, "build.log");

    public string TestLog => Path.Combine(folder, "test.log");

    /// <summary>Brings it to the HEAD of the repository.</summary>
    public async Task RefreshAsync()
    {
        var head = await Shell.ReadAsync(["git", "rev-parse", "HEAD"], cancellation: cancellation);
        if (!Directory.Exists(Path.Combine(Clone, ".git")))
            await Shell.ReadAsync(
                ["git", "clone", "-q", "--no-checkout", Repository.Root, Clone], cancellation: cancellation);
        if (!(await RunAsync("git", "cat-file", "-e", head)).Succeeded)
            await GitAsync("fetch", "-q", Repository.Root, "HEAD");
        await GitAsync("checkout", "-q", "--force", "--detach", head);
    }

    public Task<string> HeadAsync() => GitAsync("rev-parse", "HEAD");

    /// <summary>The unchanged sources with one patch, of one line of context: moved lines do not matter.</summary>
    public async Task<bool> ApplyAsync(Mutant mutant)
    {
        await GitAsync("checkout", "-q", "--force", "HEAD");
        return (await RunAsync("git", "apply", "-C1", "--recount", mutant.Path)).Succeeded;
    }

    /// <summary>Neither style nor warnings are asked of a mutant.</summary>
    public async Task<bool> BuildAsync()
    {
        var status = await LoggedAsync(
            BuildLog, "dotnet", "build", Tests, "-c", "Release", "-tl:off", "-v", "q", "-p:RunAnalyzers=false",
            "-p:TreatWarningsAsErrors=false", "-p:EnforceCodeStyleInBuild=false");
        return status == 0;
    }

    /// <summary>The tests that fail; null when none of them ran to its end.</summary>
    public async Task<IReadOnlyList<string>?> FailedTestsAsync(string filter, TimeSpan limit)
    {
        if (Directory.Exists(Results))
            Directory.Delete(Results, recursive: true);
        // `timeout` ends the runner's children too, gently: they stop the systems that they have started.
        await LoggedAsync(
            TestLog, "timeout", $"{(int)limit.TotalSeconds}", "dotnet", "test", Tests, "-c", "Release", "--no-build",
            "-tl:off", "--filter", filter, "--logger", "trx", "--results-directory", Results);
        return TestResults.FailedIn(Results);
    }

    private async Task<string> GitAsync(params string[] arguments) =>
        await Shell.ReadAsync(["git", .. arguments], Clone, cancellation);

    private Task<ShellResult> RunAsync(params string[] command) =>
        Shell.RunAsync(command, Clone, cancellation: cancellation);

    private Task<int> LoggedAsync(string log, params string[] command) =>
        LoggedCommand.RunAsync(command, log, Clone, Variables(), cancellation);

    // Logic is what is broken, so the build that the tests made serves as the published binary.
    private Dictionary<string, string?> Variables() => new()
    {
        ["NO_PUBLISH"] = "1",
        ["GATEWAY_BIN"] = Built("PaymentGateway"),
        ["SIMULATOR_BIN"] = Built("ProcessorSimulator"),
        ["PG_BIN"] = settings.PostgresBinaries,
        ["DOTNET_ROLL_FORWARD"] = "Major",
    };

    private string Built(string program) =>
        Path.Combine(Clone, "artifacts", settings.Framework ?? "", "bin", program, "release", program);
}
