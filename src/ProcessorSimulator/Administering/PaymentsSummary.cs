namespace ProcessorSimulator.Administering;

/// <summary>The answer of GET /admin/payments-summary.</summary>
internal sealed record PaymentsSummary(
    long TotalRequests, decimal TotalAmount, decimal TotalFee, decimal FeePerTransaction);
