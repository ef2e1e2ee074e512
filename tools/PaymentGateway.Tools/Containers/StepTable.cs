using System.Diagnostics;

namespace PaymentGateway.Tools.Containers;

/// <summary>Plays steps one after another, a row for each as it ends.</summary>
/// <param name="killedForMemory">The containers that were, since the last look: a fault of whatever step it is.</param>
public sealed class StepTable(TextWriter output, Func<IReadOnlyList<string>> killedForMemory)
{
    private readonly Dictionary<StepOutcome, int> _counts =
        Enum.GetValues<StepOutcome>().ToDictionary(outcome => outcome, _ => 0);

    private string? _ended;

    public bool Succeeded => _counts[StepOutcome.Failed] == 0;

    /// <summary>The steps that follow are skipped; null lets them be played again.</summary>
    public void End(string? why) => _ended = why;

    public void WriteHead()
    {
        output.WriteLine("| step | outcome | ledgers | | s |");
        output.WriteLine("| --- | --- | --- | --- | --- |");
    }

    /// <summary>Plays one; what it throws is a fault of it, a broken off run excepted.</summary>
    public async Task PlayAsync(
        string name, Func<ContainerStep, Task> playAsync, CancellationToken cancellation = default)
    {
        var (step, took) = (new ContainerStep(), Stopwatch.StartNew());
        if (_ended is { } why)
            step.Skip(why);
        else
            await TryAsync(step, playAsync, cancellation);

        var killed = killedForMemory();
        step.Must(killed.Count == 0, $"killed for memory: {string.Join(' ', killed)}");
        _counts[step.Outcome]++;
        output.WriteLine(step.Row(name, took.Elapsed));
        foreach (var line in step.Explanations.SelectMany(text => text.Split('\n')))
            output.WriteLine($"  {line}");
    }

    public void WriteEnd(TimeSpan took)
    {
        output.WriteLine($"{(int)took.TotalSeconds} s in all, {_counts[StepOutcome.Skipped]} skipped");
        output.WriteLine($"{_counts[StepOutcome.Passed]} passed, {_counts[StepOutcome.Failed]} failed");
    }

    private static async Task TryAsync(
        ContainerStep step, Func<ContainerStep, Task> playAsync, CancellationToken cancellation)
    {
        try
        {
            await playAsync(step);
        }
        catch (Exception broken) when (!cancellation.IsCancellationRequested)
        {
            step.Must(false, broken.Message.Split('\n')[0]);
            step.Explain([$"{broken}"]);
        }
    }
}
