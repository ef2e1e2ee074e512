using System.CommandLine;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Chaos;

/// <summary>
/// Breaks everything at once, by a seed and under load, then compares every payment; prints the ledger. The rig itself
/// is a test. Several at once may play other seeds on one machine: each has a run directory and ports of its own.
/// </summary>
public static class ChaosVerb
{
    internal const string Tests = "tests/PaymentGateway.Tests";

    private static string Folder => Repository.PathOf("artifacts", "chaos");

    public static Command Create()
    {
        var arguments = new Argument<string[]>("arguments")
        {
            Description = "SEED, durable|unlogged|both, SECONDS: 1 both 280 when nothing is said",
            Arity = ArgumentArity.ZeroOrMore,
        };
        var verb = new Command("chaos", "Everything breaks at once, by a seed; every payment is compared.")
        {
            arguments,
        };
        verb.SetAction((parsed, cancellation) =>
            RunAsync(ChaosOptions.Parse(parsed.GetValue(arguments) ?? []), cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(ChaosOptions options, CancellationToken cancellation)
    {
        Directory.CreateDirectory(Folder);
        var variables = await BuildAsync(cancellation);
        var failed = false;
        foreach (var profile in options.Profiles)
            failed |= !await new ChaosPlay(Folder, options, profile, variables).RunAsync(cancellation);
        return failed ? 1 : 0;
    }

    // One build at a time; what is up to date stays as it is, under a run of another seed, too.
    private static async Task<Dictionary<string, string?>> BuildAsync(CancellationToken cancellation)
    {
        using var held = await FileLock.TakeAsync(Path.Combine(Folder, "build.lock"), cancellation);
        // The profile is one of the arguments: what a caller set for a system of their own does not reach the tests.
        var settings = SystemSettings.FromEnvironment().With(("PROFILE", null));
        await Publishing.PrepareAsync(settings, cancellation);
        var built = await Shell.RunAsync(
            ["dotnet", "build", Tests, "-c", "Release", "-tl:off", "-v", "q"], cancellation: cancellation);
        if (!built.Succeeded)
        {
            await Console.Error.WriteLineAsync(built.Output + built.Errors);
            throw new ToolException("the tests do not build");
        }

        return new Dictionary<string, string?>
        {
            ["PROFILE"] = null,
            ["NO_PUBLISH"] = "1",
            ["GATEWAY_BIN"] = settings.GatewayBinary,
            ["SIMULATOR_BIN"] = settings.SimulatorBinary,
            ["PG_BIN"] = settings.PostgresBinaries,
        };
    }
}
