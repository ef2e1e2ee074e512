namespace PaymentGateway.Tools.Containers;

/// <summary>What came of a step.</summary>
public enum StepOutcome
{
    /// <summary>Everything that it asks for holds.</summary>
    Passed,

    /// <summary>Something does not.</summary>
    Failed,

    /// <summary>It was not played, or not to its end, and says why.</summary>
    Skipped,
}
