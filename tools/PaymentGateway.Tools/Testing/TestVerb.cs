using System.CommandLine;
using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tools.Testing;

/// <summary>All tests, the end-to-end ones against the published binaries; or the storage tests elsewhere.</summary>
internal static class TestVerb
{
    private const string Simulation = "ClusterSimulationTests.No_schedule";

    public static IEnumerable<Command> Create()
    {
        yield return Verb("test", "Runs all tests; further arguments go to `dotnet test`.", RunAsync);
        yield return Verb(
            "test-fast", "Runs the tests that need no binaries, and the storage tests of what changed.", RunFastAsync);
        yield return Verb(
            "test-storage", "Runs the storage tests on the database that STORAGE_URL names.", RunStorageAsync);
    }

    private static Command Verb(
        string name, string description,
        Func<SystemSettings, IReadOnlyList<string>, CancellationToken, Task<int>> runAsync)
    {
        var verb = new Command(name, description) { TreatUnmatchedTokensAsErrors = false };
        verb.SetAction((parsed, cancellation) =>
            runAsync(SystemSettings.FromEnvironment(), parsed.UnmatchedTokens, cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(
        SystemSettings settings, IReadOnlyList<string> arguments, CancellationToken cancellation)
    {
        await Publishing.PrepareAsync(settings, cancellation, "tests");
        // Apart, so that `make run` need not install it.
        if (!settings.Lacks.Contains("browser") && await SetUpAsync(cancellation, "browser") != 0)
            throw new ToolException("the tests of the pages need Chromium: eng/setup browser, or LACKS=browser");
        foreach (var line in ComposeSplit.Lines(ComposeSplit.Read()))
            Console.WriteLine(line);
        return await TestAsync(
            settings, arguments.Contains("--filter") ? arguments : ["--filter", "Lane!=Long", .. arguments],
            cancellation);
    }

    /// <summary>
    /// The tests that need no published binary: those without PostgreSQL, and those with it of the folders that changed
    /// since the upstream branch.
    /// </summary>
    private static async Task<int> RunFastAsync(
        SystemSettings settings, IReadOnlyList<string> arguments, CancellationToken cancellation)
    {
        if (await SetUpAsync(cancellation, "tests") != 0)
            throw new ToolException("eng/setup failed");
        var changed = await Shell.RunAsync(
            ["sh", "-ec", "git diff --name-only --merge-base @{upstream}; git ls-files -o --exclude-standard"],
            Repository.Root, cancellation: cancellation);
        // Without an upstream branch nothing says what changed.
        var folders = changed.Succeeded ? ChangedFolders(changed.Output.Split('\n')) : [""];
        var filter = string.Concat(folders.Select(folder => $"|FullyQualifiedName~PaymentGateway.Tests.{folder}"));
        Console.WriteLine($"with PostgreSQL: {(folders.Contains("") ? "all" : string.Join(" ", folders))}");
        return await TestAsync(
            settings,
            // The simulation is what finds most in a minute.
            [
                "--filter",
                $"(Needs!=system&Lane!=Alone&Lane!=Long&(Needs!=postgres{filter}))|FullyQualifiedName~{Simulation}",
                "-e", $"RUNS={Environment.GetEnvironmentVariable("RUNS") ?? "40"}", .. arguments,
            ],
            cancellation);
    }

    private static Task<int> SetUpAsync(CancellationToken cancellation, params string[] parts) =>
        Shell.ShowAsync([Repository.PathOf("eng", "setup"), .. parts], cancellation: cancellation);

    /// <returns>The folders of the source whose files changed; "" is all of them.</returns>
    internal static IReadOnlyList<string> ChangedFolders(IEnumerable<string> files)
    {
        var parts = files.Select(file => file.Split('/')).ToList();
        return parts.Exists(file => file is ["postgres", ..] or [_, _, "Storage" or "Support", ..])
            ? [""]
            : [.. parts.Where(file => file is ["src" or "tests", "PaymentGateway" or "PaymentGateway.Tests", _, _, ..])
                .Select(file => file[2] + '.').Distinct()];
    }

    // One class after the other: they share a database, and look at what goes on in it.
    private static Task<int> RunStorageAsync(
        SystemSettings settings, IReadOnlyList<string> arguments, CancellationToken cancellation) =>
        string.IsNullOrEmpty(Environment.GetEnvironmentVariable("STORAGE_URL"))
            ? throw new ToolException("which database? make test-storage URL='Host=…;Username=…;Database=…'")
            : TestAsync(
                settings,
                [
                    "--filter", "FullyQualifiedName~PaymentGateway.Tests.Storage.", .. arguments,
                    "--", "xUnit.ParallelizeTestCollections=false",
                ],
                cancellation);

    private static async Task<int> TestAsync(
        SystemSettings settings, IReadOnlyList<string> arguments, CancellationToken cancellation)
    {
        var results = Repository.ArtifactsOf(settings.Framework, "test-results");
        if (Directory.Exists(results))
            Directory.Delete(results, recursive: true);
        var status = await Shell.ShowAsync(
            [
                "dotnet", "test", "PaymentGateway.sln", "-c", "Release", "-tl:off", "--logger", "trx",
                "--results-directory", results, .. arguments,
            ],
            variables: Publishing.TestVariables(settings),
            cancellation: cancellation);
        cancellation.ThrowIfCancellationRequested();

        var written = TestResults.In(results);
        var notRun = written.NotRun;
        foreach (var line in notRun)
            Console.WriteLine(line);
        Console.WriteLine(written.Summary);
        if (!written.AnyRan)
            throw new ToolException("no test ran" + (notRun.Count > 0 ? "" : ": nothing matches the filter"));
        if (status != 0 || notRun.All(line => TestResults.IsAllowed(line, settings.Lacks)))
            return status;
        throw new ToolException("skipped tests are red, unless LACKS=part,part names what this machine lacks");
    }
}
