namespace PaymentGateway.Tools.Comparing;

/// <summary>A settlement as the gateway's books hold it.</summary>
public sealed record BooksEntry(short Processor, decimal Amount, DateTime RequestedAt);
