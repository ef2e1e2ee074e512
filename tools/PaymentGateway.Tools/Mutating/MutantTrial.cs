using PaymentGateway.Tools.Testing;

namespace PaymentGateway.Tools.Mutating;

/// <summary>Tries mutants one after another: a test must turn red for each, or it proves nothing.</summary>
internal sealed class MutantTrial(MutantCopy copy, string folder)
{
    private const string Chaos = "FullyQualifiedName~ChaosTests.Whatever";

    // The tests' own limits are shorter.
    private static readonly TimeSpan TestLimit = TimeSpan.FromSeconds(300);
    private static readonly TimeSpan ChaosLimit = TimeSpan.FromSeconds(240);

    /// <summary>Red says something only where the unchanged code is green: once for a commit and these tests.</summary>
    public async Task CheckUnchangedAsync(IReadOnlyList<Mutant> mutants)
    {
        var filter = Mutant.FilterOf(mutants);
        var (stamp, state) = (Path.Combine(folder, "green"), $"{await copy.HeadAsync()} {filter}");
        if (File.Exists(stamp) && await File.ReadAllTextAsync(stamp) == state)
            return;
        if (!await copy.BuildAsync())
            throw await FailureAsync(copy.BuildLog, "the unchanged copy does not build");
        if (await copy.FailedTestsAsync(filter, TestLimit) is not [])
            throw await FailureAsync(copy.TestLog, "the unchanged copy is not green");
        await File.WriteAllTextAsync(stamp, state);
    }

    public async Task<MutantEntry> TryAsync(Mutant mutant)
    {
        if (!await copy.ApplyAsync(mutant))
            return MutantEntry.Missed(mutant, "NO LONGER APPLIES");
        if (!await copy.BuildAsync())
        {
            var errors = File.ReadLines(copy.BuildLog).Where(IsError).Take(3);
            await Console.Error.WriteLineAsync(string.Join('\n', errors));
            return MutantEntry.Missed(mutant, "DOES NOT BUILD");
        }

        if (await copy.FailedTestsAsync(mutant.Filter, TestLimit) is not { } found)
            return MutantEntry.Missed(mutant, "ITS TESTS DID NOT END");
        if (found.Count == 0)
        {
            await Console.Error.WriteLineAsync($"{mutant.Name}: its own tests are green; the chaos rig");
            found = await copy.FailedTestsAsync(Chaos, ChaosLimit) ?? [];
        }

        return found.Count > 0 ? MutantEntry.CaughtBy(mutant, found) : MutantEntry.Missed(mutant, "SURVIVES");
    }

    private static bool IsError(string line) => line.Contains(" error ", StringComparison.Ordinal);

    private static async Task<ToolException> FailureAsync(string log, string why)
    {
        var lines = await File.ReadAllLinesAsync(log);
        await Console.Error.WriteLineAsync(string.Join('\n', lines.TakeLast(40)));
        return new ToolException(why);
    }
}

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
        if (!Directory.Exists(Path.Combine(Clone, ".git")))
            await Shell.ReadAsync(
                ["git", "clone", "-q", "--no-checkout", Repository.Root, Clone], cancellation: cancellation);
        await GitAsync("fetch", "-q", Repository.Root, "HEAD");
        await GitAsync("checkout", "-q", "--force", "--detach", "FETCH_HEAD");
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
        return TestResults.In(Results).Failed;
    }

    private async Task<string> GitAsync(params string[] arguments) =>
        await Shell.ReadAsync(["git", .. arguments], Clone, cancellation);

    private Task<ShellResult> RunAsync(params string[] command) =>
        Shell.RunAsync(command, Clone, cancellation: cancellation);

    private Task<int> LoggedAsync(string log, params string[] command) =>
        LoggedCommand.RunAsync(command, log, Clone, Variables(), cancellation);

    // Logic is what is broken, so the build that the tests made serves as the published binary.
    private Dictionary<string, string?> Variables() => new(Publishing.TestVariables(settings))
    {
        ["GATEWAY_BIN"] = Built("PaymentGateway"),
        ["SIMULATOR_BIN"] = Built("ProcessorSimulator"),
        ["DOTNET_ROLL_FORWARD"] = "Major",
        // The first red schedule is enough.
        ["SHRINK"] = "0",
    };

    private string Built(string program) =>
        Path.Combine(Clone, "artifacts", settings.Framework ?? "", "bin", program, "release", program);
}
