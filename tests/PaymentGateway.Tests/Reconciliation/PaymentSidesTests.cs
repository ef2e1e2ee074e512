using PaymentGateway.Http;
using PaymentGateway.Processors;
using PaymentGateway.Reconciliation;
using Difference = PaymentGateway.Reconciliation.Difference;

namespace PaymentGateway.Tests.Reconciliation;

/// <summary>How a payment differs, over all that the three sides may say.</summary>
public sealed class PaymentSidesTests
{
    private static readonly DateTime At = new(2026, 11, 23, 12, 0, 0, DateTimeKind.Utc);

    // Each processor: - has none, = has it as the ledger, c another amount, t another requestedAt, b both.
    [Theory]
    [InlineData(null, "-", "-", null)]
    [InlineData(null, "=", "-", "unrecorded ledger")]
    [InlineData(null, "-", "b", "unrecorded ledger")]
    [InlineData(null, "=", "=", "charged_twice")]
    [InlineData(1, "=", "-", null)]
    [InlineData(2, "-", "=", null)]
    [InlineData(1, "-", "-", "absent processors")]
    [InlineData(2, "-", "-", "absent processors")]
    [InlineData(1, "-", "=", "misplaced default")]
    [InlineData(2, "b", "-", "misplaced fallback")]
    [InlineData(1, "=", "=", "charged_twice")]
    [InlineData(2, "t", "=", "charged_twice")]
    [InlineData(1, "c", "-", "amount")]
    [InlineData(2, "-", "b", "amount")]
    [InlineData(1, "t", "-", "requested_at")]
    public void A_difference_is_named_with_the_side_that_lacks_it(
        int? settledAt, string atDefault, string atFallback, string? expected)
    {
        var sides = new PaymentSides(
            new PaymentRow(
                Guid.NewGuid(), At, 1990, 7, (short?)settledAt, settledAt is null ? null : At, null, null, null, null),
            new() { [Processor.Default] = Held(atDefault), [Processor.Fallback] = Held(atFallback) });

        var kind = sides.Compare();

        Assert.Equal(expected, kind is { } one
            ? $"{Words.Of(one)} {new Difference(one, sides).Lacks}".TrimEnd()
            : null);
    }

    [Fact]
    public void Metrics_have_every_kind() =>
        Assert.Equal(DifferenceTags.Kinds, Enum.GetValues<DifferenceKind>().Select(Words.Of));

    private static LookupOutcome Held(string how) => how == "-"
        ? new LookupOutcome(LookupResult.NotFound)
        : new LookupOutcome(
            LookupResult.Found, how is "c" or "b" ? 1991 : 1990,
            how is "t" or "b" ? At.AddTicks(TimeSpan.TicksPerMicrosecond) : At);
}
