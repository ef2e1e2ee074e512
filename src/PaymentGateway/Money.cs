namespace PaymentGateway;

/// <summary>Cents and the decimals of the wire. The processors keep two places (contract.md, what follows).</summary>
internal static class Money
{
    /// <summary>999,999,999,999.99.</summary>
    public const long MaxCents = 99_999_999_999_999;

    private const decimal Noise = 0.0001m;

    /// <summary>Exact, always with two places, so that 19.90 is written and not 19.9.</summary>
    public static decimal FromCents(decimal cents) => cents / 100m + 0.00m;

    /// <summary>
    /// The whole cents that an amount is less than a hundredth of a cent away from; otherwise the amount. A processor
    /// that keeps doubles writes 19.900000000000002 for 19.90.
    /// </summary>
    public static decimal WithoutNoise(decimal amount) =>
        decimal.Round(amount, 2) is var whole && Math.Abs(amount - whole) < Noise ? whole : amount;

    /// <returns>False when the amount is not above zero, too large, or finer than a cent.</returns>
    public static bool TryToCents(decimal amount, out long cents)
    {
        cents = 0;
        if (amount is <= 0 or > MaxCents / 100m || decimal.Round(amount, 2) != amount)
            return false;

        cents = (long)(amount * 100m);
        return true;
    }
}
