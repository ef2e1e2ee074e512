namespace PaymentGateway.Tools.Containers;

/// <summary>One thing that is asked of the containers: what came of it, as a row of the table.</summary>
public sealed class ContainerStep
{
    private readonly List<string> _faults = [];
    private readonly List<string> _notes = [];
    private readonly List<string> _explanations = [];

    /// <summary>What the comparison of the ledgers said.</summary>
    public string Ledgers { get; set; } = "";

    /// <summary>Why it was not played; a fault counts for more.</summary>
    public string? Skipped { get; private set; }

    public StepOutcome Outcome =>
        _faults.Count > 0 ? StepOutcome.Failed : Skipped is null ? StepOutcome.Passed : StepOutcome.Skipped;

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

    public void Skip(string why) => Skipped = why;

    public void Explain(IEnumerable<string> lines) => _explanations.AddRange(lines);

    public string Row(string name, TimeSpan took)
    {
        var outcome = Outcome.ToString().ToLowerInvariant();
        var said = _faults.Count == 0 ? outcome : $"{outcome}: {string.Join("; ", _faults)}";
        return $"| {name} | {said} | {Ledgers} | {Skipped ?? string.Join(' ', _notes)} | {(int)took.TotalSeconds} |";
    }
}
