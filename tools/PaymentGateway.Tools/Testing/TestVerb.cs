using System.CommandLine;
using PaymentGateway.Tools.Limiting;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Testing;

/// <summary>All tests, the end-to-end ones against the published binaries.</summary>
internal static class TestVerb
{
    public static Command Create()
    {
        var verb = new Command("test", "Runs all tests; further arguments go to `dotnet test`.")
        {
            TreatUnmatchedTokensAsErrors = false,
        };
        verb.SetAction((parsed, cancellation) =>
            RunAsync(SystemSettings.FromEnvironment(), parsed.UnmatchedTokens, cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(
        SystemSettings settings, IReadOnlyList<string> arguments, CancellationToken cancellation)
    {
        await Publishing.PrepareAsync(settings, cancellation);
        foreach (var line in LimitsVerb.Lines(ComposeSplit.Read()))
            Console.WriteLine(line);

        var results = Repository.ArtifactsOf(settings.Framework, "test-results");
        if (Directory.Exists(results))
            Directory.Delete(results, recursive: true);
        var status = await Shell.ShowAsync(
            [
                "dotnet", "test", "PaymentGateway.sln", "-c", "Release", "-tl:off", "--logger", "trx",
                "--results-directory", results, .. arguments,
            ],
            variables: new Dictionary<string, string?>
            {
                // Nothing may be skipped for want of a part, and every system uses what was just published.
                ["PAYMENTGATEWAY_REQUIRE_PARTS"] = "1",
                ["NO_PUBLISH"] = "1",
                ["GATEWAY_BIN"] = settings.GatewayBinary,
                ["SIMULATOR_BIN"] = settings.SimulatorBinary,
                ["PG_BIN"] = settings.PostgresBinaries,
            },
            cancellation: cancellation);
        cancellation.ThrowIfCancellationRequested();

        var counted = TestCounts.Read(results);
        Console.WriteLine(counted.Summary);
        return counted.AnyRan ? status : throw new ToolException("no test ran: nothing matches the filter");
    }
}
