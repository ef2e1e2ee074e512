using System.CommandLine;
using PaymentGateway.Tools.Chaos;
using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tools.Testing;

/// <summary>All tests, the end-to-end ones against the published binaries; or the storage tests elsewhere.</summary>
internal static class TestVerb
{
    public static IEnumerable<Command> Create()
    {
        yield return Verb("test", "Runs all tests; further arguments go to `dotnet test`.", RunAsync);
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
        await Publishing.PrepareAsync(settings, cancellation);
        // Apart, so that `make run` need not install it.
        if (await Shell.ShowAsync([Repository.PathOf("eng", "setup"), "browser"], cancellation: cancellation) != 0)
            throw new ToolException("the tests of the pages need Chromium: eng/setup browser");
        // Nobody but root has use for it.
        if (Environment.IsPrivilegedProcess)
            await FailoverVerb.InstallAsync(cancellation);
        foreach (var line in ComposeSplit.Lines(ComposeSplit.Read()))
            Console.WriteLine(line);
        return await TestAsync(settings, arguments, cancellation);
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

        return status == 0 && notRun.Count > 0 && settings["PAYMENTGATEWAY_REQUIRE_PARTS"] == "1" ? 1 : status;
    }
}
