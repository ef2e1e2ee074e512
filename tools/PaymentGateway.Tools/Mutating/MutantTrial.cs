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
