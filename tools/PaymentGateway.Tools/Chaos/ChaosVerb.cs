using System.CommandLine;

namespace PaymentGateway.Tools.Chaos;

/// <summary>
/// Breaks everything at once, by a seed and under load, then compares every payment; prints the ledger. The rig itself
/// is a test. Several at once may play other seeds on one machine: each has a run directory and ports of its own.
/// </summary>
public static class ChaosVerb
{
    internal const string Tests = "tests/PaymentGateway.Tests";

    private const string Both = "both";

    private static string Folder => Repository.PathOf("artifacts", "chaos");

    public static Command Create()
    {
        var seed = new Argument<int>("seed") { DefaultValueFactory = _ => 1 };
        var profile = new Argument<string>("profile") { DefaultValueFactory = _ => Both };
        profile.AcceptOnlyFromAmong("durable", "unlogged", Both);
        var seconds = new Argument<int>("seconds") { DefaultValueFactory = _ => 280 };
        var verb = new Command("chaos", "Everything breaks at once, by a seed; every payment is compared.")
        {
            seed, profile, seconds,
        };
        verb.SetAction((parsed, cancellation) => RunAsync(
            parsed.GetValue(seed), parsed.GetValue(profile)!, parsed.GetValue(seconds), cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(int seed, string profile, int seconds, CancellationToken cancellation)
    {
        Directory.CreateDirectory(Folder);
        var variables = await BuildAsync(cancellation);
        variables["CHAOS_SEED"] = $"{seed}";
        variables["CHAOS_SECONDS"] = $"{seconds}";
        var processors = SystemSettings.FromEnvironment().Number("PROCESSORS", 2);
        variables["CHAOS_PROCESSORS"] = $"{processors}";
        var failed = false;
        foreach (var one in profile == Both ? ["durable", "unlogged"] : new[] { profile })
        {
            variables["CHAOS_PROFILE"] = one;
            variables["CHAOS_LEDGER"] = Path.Combine(Folder, $"{one}-{seed}-{seconds}-{processors}.txt");
            failed |= !await PlayAsync(variables, cancellation);
        }

        return failed ? 1 : 0;
    }

    // Prints the ledger, and where there is none what the tests said.
    private static async Task<bool> PlayAsync(
        Dictionary<string, string?> variables, CancellationToken cancellation)
    {
        var ledger = variables["CHAOS_LEDGER"]!;
        var log = $"{ledger}.log";
        using var held = FileLock.TryTake($"{ledger}.lock")
            ?? throw new ToolException($"{ledger} is being played already");
        foreach (var earlier in Directory.GetFiles(Folder, $"{Path.GetFileName(ledger)}.*log").Append(ledger))
            File.Delete(earlier);
        Console.WriteLine($"playing {Path.GetFileNameWithoutExtension(ledger)}");
        var status = await LoggedCommand.RunAsync(
            [
                "dotnet", "test", Tests, "-c", "Release", "-tl:off", "--no-build",
                "--filter", "FullyQualifiedName~ChaosTests",
            ],
            log, variables: variables, cancellation: cancellation);
        cancellation.ThrowIfCancellationRequested();

        var ended = File.Exists(ledger);
        if (ended)
            Console.Write(await File.ReadAllTextAsync(ledger, cancellation));
        else
            await Console.Error.WriteAsync(await File.ReadAllTextAsync(log, cancellation));
        if (status == 0 && ended)
            return true;

        await Console.Error.WriteLineAsync($"chaos failed; what the parts said is beside {ledger}");
        return false;
    }

    private static async Task<Dictionary<string, string?>> BuildAsync(CancellationToken cancellation)
    {
        // The profile is one of the arguments: what a caller set for a system of their own does not reach the tests.
        var settings = SystemSettings.FromEnvironment().With(("PROFILE", null));
        await Publishing.PrepareAsync(settings, cancellation);
        // One build at a time; what is up to date stays as it is, under a run of another seed, too.
        var built = await Shell.RunAsync(
            [
                "flock", "-o", $"{Folder}/build.lock", "dotnet", "build", Tests, "-c", "Release", "-tl:off", "-v", "q",
            ],
            cancellation: cancellation);
        if (!built.Succeeded)
        {
            await Console.Error.WriteLineAsync(built.Output + built.Errors);
            throw new ToolException("the tests do not build");
        }

        return new Dictionary<string, string?>(Publishing.TestVariables(settings)) { ["PROFILE"] = null };
    }
}
