namespace PaymentGateway.Tools.Comparing;

/// <summary>A payment as a processor has stored it.</summary>
public sealed record ProcessorPayment(Guid CorrelationId, decimal Amount, DateTimeOffset RequestedAt);
