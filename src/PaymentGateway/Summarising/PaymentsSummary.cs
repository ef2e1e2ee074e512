using System.Text.Json.Serialization;

namespace PaymentGateway.Summarising;

/// <summary>The auditor's answer in the contract's format: only settled payments count.</summary>
internal sealed record PaymentsSummary(
    [property: JsonPropertyName("default")] ProcessorTotals Default,
    [property: JsonPropertyName("fallback")] ProcessorTotals Fallback);

/// <summary>Count and exact sum, two places.</summary>
internal sealed record ProcessorTotals(long TotalRequests, decimal TotalAmount);
