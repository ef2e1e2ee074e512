namespace PaymentGateway.Tools.Comparing;

/// <summary>One way in which the ledger and what happened differ, with every payment that does.</summary>
/// <param name="What">Such as «charged by both processors».</param>
/// <param name="Found">A line for each payment.</param>
public sealed record Difference(string What, IReadOnlyList<string> Found)
{
    private const int ShownMax = 10;

    /// <summary>How many, in one line.</summary>
    public string Count => $"{Found.Count} {What}";

    /// <summary>The first of them, too.</summary>
    public override string ToString() => $"{Count}:\n  {string.Join("\n  ", Found.Take(ShownMax))}";
}
