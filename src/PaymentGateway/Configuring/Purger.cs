namespace PaymentGateway.Configuring;

/// <summary>Whose POST /purge-payments is answered.</summary>
internal enum Purger
{
    /// <summary>On the listeners of Gateway__Admin__Urls.</summary>
    Operator,

    /// <summary>On every listener: the challenge purges where it pays (contract.md).</summary>
    Everyone,
}
