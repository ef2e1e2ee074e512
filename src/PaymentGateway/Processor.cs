namespace PaymentGateway;

/// <summary>The ledger stores these numbers. Default has the lower fee.</summary>
internal enum Processor : short
{
    Default = 1,
    Fallback = 2,
}
