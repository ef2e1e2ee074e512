namespace PaymentGateway;

/// <summary>One of the two payment processors. The numbers are stored in the ledger.</summary>
internal enum Processor : short
{
    /// <summary>The cheap one.</summary>
    Default = 1,

    /// <summary>The dear one.</summary>
    Fallback = 2,
}
