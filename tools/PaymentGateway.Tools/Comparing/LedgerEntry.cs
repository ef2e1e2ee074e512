namespace PaymentGateway.Tools.Comparing;

/// <summary>A settlement as the gateway's ledger holds it.</summary>
public sealed record LedgerEntry(short Processor, decimal Amount, DateTime RequestedAt);
