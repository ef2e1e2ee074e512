namespace PaymentGateway.Tools.Chaos;

/// <summary>One run of the chaos rig: a seed in one profile.</summary>
internal sealed class ChaosPlay(
    string folder, ChaosOptions options, string profile, IReadOnlyDictionary<string, string?> variables)
{
    private string Ledger => Path.Combine(folder, $"{profile}-{options.Seed}-{options.Seconds}.txt");

    private string Log => $"{Ledger}.log";

    /// <summary>Prints its ledger, and where it has none what the tests said.</summary>
    /// <returns>Whether it came to its end without a fault.</returns>
    public async Task<bool> RunAsync(CancellationToken cancellation)
    {
        using var held = FileLock.TryTake($"{Ledger}.lock")
            ?? throw new ToolException($"{Ledger} is being played already");
        foreach (var earlier in Directory.GetFiles(folder, $"{Path.GetFileName(Ledger)}.*log").Append(Ledger))
            File.Delete(earlier);
        Console.WriteLine($"playing seed {options.Seed}, {profile}, for {options.Seconds} s");

        var succeeded = await TestAsync(cancellation);
        cancellation.ThrowIfCancellationRequested();
        var ended = File.Exists(Ledger);
        if (ended)
            Console.Write(await File.ReadAllTextAsync(Ledger, cancellation));
        else
            await Console.Error.WriteAsync(await File.ReadAllTextAsync(Log, cancellation));
        if (succeeded && ended)
            return true;
        await Console.Error.WriteLineAsync($"chaos failed; what the parts said is beside {Ledger}");
        return false;
    }

    private async Task<bool> TestAsync(CancellationToken cancellation)
    {
        var run = new Dictionary<string, string?>(variables)
        {
            ["CHAOS_SEED"] = $"{options.Seed}",
            ["CHAOS_PROFILE"] = profile,
            ["CHAOS_SECONDS"] = $"{options.Seconds}",
            ["CHAOS_LEDGER"] = Ledger,
        };
        string[] tests =
        [
            "dotnet", "test", ChaosVerb.Tests, "-c", "Release", "-tl:off", "--no-build",
            "--filter", "FullyQualifiedName~ChaosTests",
        ];
        return await LoggedCommand.RunAsync(tests, Log, variables: run, cancellation: cancellation) == 0;
    }
}
