using System.CommandLine;

namespace PaymentGateway.Tools.Mutating;

/// <summary>Breaks one invariant at a time in a copy of HEAD and runs the tests that should notice.</summary>
public static class MutantsVerb
{
    public static Command Create()
    {
        var names = new Argument<string[]>("names")
        {
            Description = "some of tests/mutants, without .patch; else all",
            Arity = ArgumentArity.ZeroOrMore,
        };
        var verb = new Command("mutants", "Breaks one invariant at a time in a copy; a test must turn red for each.")
        {
            names,
        };
        verb.SetAction((parsed, cancellation) => RunAsync(parsed.GetValue(names) ?? [], cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(string[] names, CancellationToken cancellation)
    {
        var mutants = Mutant.Read(names);
        var settings = SystemSettings.FromEnvironment();
        var folder = Repository.ArtifactsOf(settings.Framework, "mutants");
        Directory.CreateDirectory(folder);
        using var held = FileLock.TryTake(Path.Combine(folder, "lock"))
            ?? throw new ToolException("mutants are being tried already");

        var copy = new MutantCopy(folder, settings, cancellation);
        await copy.RefreshAsync();
        var probe = new MutantTrial(copy, folder);
        await probe.CheckUnchangedAsync(mutants);

        var list = Path.Combine(folder, "list.md");
        await File.WriteAllTextAsync(list, "", cancellation);
        var caught = 0;
        foreach (var mutant in mutants)
        {
            var entry = await probe.TryAsync(mutant);
            caught += entry.Caught ? 1 : 0;
            Console.WriteLine(entry);
            await File.AppendAllTextAsync(list, $"{entry}\n", cancellation);
        }

        var commit = await Commit.ReadAsync(cancellation);
        Console.WriteLine($"{caught} of {mutants.Count} mutants caught, at {commit}; the list is in {list}");
        return caught == mutants.Count ? 0 : 1;
    }
}
