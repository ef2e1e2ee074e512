namespace PaymentGateway.Tools.Containers;

/// <summary>One thing that is asked of the containers: what came of it, as a row of the table.</summary>
public sealed class ContainerStep
{
    private readonly List<string> faults = [];
    private readonly List<string> notes = [];
    private readonly List<string> explanations = [];

    /// <summary>What the comparison of the ledgers said.</summary>
    public string Ledgers { get; set; } = "";

    /// <summary>Why it was not played; a fault counts for more.</summary>
    public string? Skipped { get; private set; }

    public StepOutcome Outcome =>
        faults.Count > 0 ? StepOutcome.Failed : Skipped is null ? StepOutcome.Passed : StepOutcome.Skipped;

    /// <summary>What does not fit into a row.</summary>
    public IReadOnlyList<string> Explanations => explanations;

    /// <summary>Notes a fault where something does not hold; the step may go on, to find the others too.</summary>
    /// <returns>Whether it holds.</returns>
    public bool Must(bool holds, string fault)
    {
        if (!holds)
            faults.Add(fault);
        return holds;
    }

    public void Note(string note) => notes.Add(note);

    public void Skip(string why) => Skipped = why;

    public void Explain(IEnumerable<string> lines) => explanations.AddRange(lines);

    public string Row(string name, TimeSpan took)
    {
        var outcome = Outcome.ToString().ToLowerInvariant();
        var said = faults.Count == 0 ? outcome : $"{outcome}: {string.Join("; ", faults)}";
        return $"| {name} | {said} | {Ledgers} | {Skipped ?? string.Join(' ', notes)} | {(int)took.TotalSeconds} |";
    }
}
