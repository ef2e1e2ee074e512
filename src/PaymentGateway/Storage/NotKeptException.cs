using System.Globalization;

namespace PaymentGateway.Storage;

/// <summary>
/// A window cannot be summed up: it begins or ends within a bucket whose payments have left the ledger, and the totals
/// have whole buckets only. The message is for whoever asked.
/// </summary>
/// <param name="bound">Which end of the window, as the wire calls it.</param>
/// <param name="nearest">UTC; one that can be summed up.</param>
internal sealed class NotKeptException(string bound, DateTime nearest) : Exception(string.Create(
    CultureInfo.InvariantCulture,
    $"{bound} is among payments that have left the ledger, and only sums of 5 seconds are kept of these. It may be "
    + $"{nearest:yyyy-MM-dd'T'HH:mm:ss.FFFFFF'Z'}."))
{
    /// <summary>Which end of the window, as the wire calls it.</summary>
    public string Bound => bound;
}
