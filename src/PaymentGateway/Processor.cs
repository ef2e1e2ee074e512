namespace PaymentGateway;

/// <summary>One of the two payment processors. The numbers are stored in the ledger.</summary>
internal enum Processor : short
{
    /// <summary>The processor with the lower fee.</summary>
    Default = 1,

    /// <summary>The processor with the higher fee.</summary>
    Fallback = 2,
}
