namespace PaymentGateway.Tools.Containers;

/// <summary>Plays steps one after another, a row for each as it ends.</summary>
/// <param name="killedForMemory">The containers that were, since the last look: a fault of whatever step it is.</param>
public sealed class StepTable(TextWriter output, Func<IReadOnlyList<string>> killedForMemory)
{
    private readonly List<string> _outcomes = [];

    private string? _ended;

    public bool Succeeded => !_outcomes.Contains(ContainerStep.Failed);

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
        _outcomes.Add(step.Outcome);
        output.WriteLine(step.Row(name, took.Elapsed));
        foreach (var line in step.Explanations.SelectMany(text => text.Split('\n')))
            output.WriteLine($"  {line}");
    }

    public void WriteEnd(TimeSpan took)
    {
        output.WriteLine($"{(int)took.TotalSeconds} s in all, {CountOf(ContainerStep.Skipped)} skipped");
        output.WriteLine($"{CountOf(ContainerStep.Passed)} passed, {CountOf(ContainerStep.Failed)} failed");
    }

    private int CountOf(string outcome) => _outcomes.Count(one => one == outcome);

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

/// <summary>One thing that is asked of the containers: what came of it, as a row of the table.</summary>
public sealed class ContainerStep
{
    public const string Passed = "passed";
    public const string Failed = "failed";
    public const string Skipped = "skipped";

    private readonly List<string> _faults = [];
    private readonly List<string> _notes = [];
    private readonly List<string> _explanations = [];
    private string? _whySkipped;

    /// <summary>What the comparison of the ledgers said.</summary>
    public string Ledgers { get; set; } = "";

    /// <summary>A fault counts for more than a skip.</summary>
    public string Outcome => _faults.Count > 0 ? Failed : _whySkipped is null ? Passed : Skipped;

    /// <summary>What does not fit into a row.</summary>
    public IReadOnlyList<string> Explanations => _explanations;

    /// <summary>Notes a fault where something does not hold; the step may go on, to find the others too.</summary>
    /// <returns>Whether it holds.</returns>
    public bool Must(bool holds, string fault)
    {
        if (!holds)
            _faults.Add(fault);
        return holds;
    }

    public void Note(string note) => _notes.Add(note);

    public void Skip(string why) => _whySkipped = why;

    public void Explain(IEnumerable<string> lines) => _explanations.AddRange(lines);

    public string Row(string name, TimeSpan took)
    {
        var said = _faults.Count == 0 ? Outcome : $"{Outcome}: {string.Join("; ", _faults)}";
        var notes = _whySkipped ?? string.Join(' ', _notes);
        return $"| {name} | {said} | {Ledgers} | {notes} | {(int)took.TotalSeconds} |";
    }
}
