namespace PaymentGateway.Tests.Support;

/// <summary>The challenge's processors, as every ledger numbers them.</summary>
internal static class Known
{
    public static readonly Processor Default = new("default", 0.05m) { Id = 1 };
    public static readonly Processor Fallback = new("fallback", 0.15m) { Id = 2 };

    /// <summary>One more, where a test configures it first.</summary>
    public static readonly Processor Third = new("third", 0.3m) { Id = 3 };

    public static readonly Processor Fourth = new("fourth", 0.4m) { Id = 4 };

    public static ProcessorSet AtDefault => ProcessorSet.Of(Default);

    public static ProcessorSet AtBoth => AtDefault | ProcessorSet.Of(Fallback);
}

/// <summary>A summary in the challenge's form.</summary>
internal sealed record ChallengeSummary(ProcessorTotals Default, ProcessorTotals Fallback)
{
    public static ChallengeSummary Of(PaymentsSummary summary) =>
        new(summary["default"], summary["fallback"]);
}
