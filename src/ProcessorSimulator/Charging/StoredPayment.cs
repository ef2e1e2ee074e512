using System.Text.Json.Serialization;

namespace ProcessorSimulator.Charging;

/// <summary>A payment as the processor's table keeps it: two decimals, microseconds, UTC.</summary>
internal readonly record struct StoredPayment(Guid CorrelationId, decimal Amount, DateTime RequestedAt)
{
    /// <summary>Beyond this the totals of a long run could overflow a decimal.</summary>
    public const decimal AmountMax = 1_000_000_000_000_000m;

    public static StoredPayment From(PaymentRequest request) =>
        new(request.CorrelationId, RoundAmount(request.Amount), ToMicroseconds(request.RequestedAt));

    /// <summary>A time without a zone is taken as UTC, since the column has no zone.</summary>
    public static DateTime ToMicroseconds(DateTime time)
    {
        var utc = time.Kind == DateTimeKind.Local ? time.ToUniversalTime() : time;
        var (microseconds, rest) = Math.DivRem(utc.Ticks, TimeSpan.TicksPerMicrosecond);
        if (rest > 5 || (rest == 5 && long.IsOddInteger(microseconds)))
            microseconds++;
        var last = DateTime.MaxValue.Ticks / TimeSpan.TicksPerMicrosecond;
        return new DateTime(Math.Min(microseconds, last) * TimeSpan.TicksPerMicrosecond, DateTimeKind.Utc);
    }

    // Adding 0.00 keeps two decimals on the wire, as the column has them: 19.9 becomes 19.90.
    private static decimal RoundAmount(decimal amount) => decimal.Round(amount, 2, MidpointRounding.ToEven) + 0.00m;
}

/// <summary>The body of POST /payments; one without all three fields is refused as malformed.</summary>
internal sealed class PaymentRequest
{
    [JsonRequired]
    public Guid CorrelationId { get; set; }

    [JsonRequired]
    public decimal Amount { get; set; }

    [JsonRequired]
    public DateTime RequestedAt { get; set; }
}
