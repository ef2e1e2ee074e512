using System.Globalization;
using PaymentGateway.Tools.Comparing;

namespace PaymentGateway.Tools.Containers;

/// <summary>What both processors have stored, of simulators that have ended as well.</summary>
public sealed record ProcessorStores(IReadOnlyList<ProcessorPayment> Default, IReadOnlyList<ProcessorPayment> Fallback)
{
    public static ProcessorStores Empty { get; } = new([], []);

    /// <summary>The gateway's summary to the letter, if it agrees with them.</summary>
    public string Summary => $$"""{"default":{{Totals(Default)}},"fallback":{{Totals(Fallback)}}}""";

    public ProcessorStores With(ProcessorStores other) =>
        new([.. Default, .. other.Default], [.. Fallback, .. other.Fallback]);

    private static string Totals(IReadOnlyList<ProcessorPayment> stored) => string.Create(
        CultureInfo.InvariantCulture,
        $$"""{"totalRequests":{{stored.Count}},"totalAmount":{{stored.Sum(payment => payment.Amount):0.00}}}""");
}
