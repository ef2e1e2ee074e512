using PaymentGateway.Hosting.Http;
using PaymentGateway.Operator.Reconciliation;
using Difference = PaymentGateway.Operator.Reconciliation.Difference;

namespace PaymentGateway.Tests.Operator.Reconciliation;

public sealed class PaymentSidesTests
{
    private static readonly DateTime At = new(2026, 11, 23, 12, 0, 0, DateTimeKind.Utc);

    // Each processor: - has none, = has it as the ledger, c another amount, t another requestedAt, b both.
    [Theory]
    [InlineData(null, "-", "-", null)]
    [InlineData(null, "=", "-", "unrecorded ledger")]
    [InlineData(null, "-", "b", "unrecorded ledger")]
    [InlineData(null, "=", "=", "charged_twice")]
    [InlineData("default", "=", "-", null)]
    [InlineData("fallback", "-", "=", null)]
    [InlineData("default", "-", "-", "absent processors")]
    [InlineData("fallback", "-", "-", "absent processors")]
    [InlineData("default", "-", "=", "misplaced default")]
    [InlineData("fallback", "b", "-", "misplaced fallback")]
    [InlineData("default", "=", "=", "charged_twice")]
    [InlineData("fallback", "t", "=", "charged_twice")]
    [InlineData("default", "c", "-", "amount")]
    [InlineData("fallback", "-", "b", "amount")]
    [InlineData("default", "t", "-", "requested_at")]
    [InlineData("former", "-", "-", null)]
    [InlineData("former", "=", "-", null)]
    public void A_difference_is_named_with_the_side_that_lacks_it(
        string? settledAt, string atDefault, string atFallback, string? expected)
    {
        var sides = new PaymentSides(
            new PaymentRow(
                Guid.NewGuid(), At, 1990, 7, settledAt, settledAt is null ? null : At, null, null, null, null),
            new() { [Known.Default] = Held(atDefault), [Known.Fallback] = Held(atFallback) });

        var kind = sides.Compare();

        Assert.Equal(expected, kind is { } one
            ? $"{Words.Of(one)} {new Difference(one, sides).Lacks}".TrimEnd()
            : null);
    }

    [Fact]
    public void A_difference_names_the_payer()
    {
        var row = new PaymentRow(Guid.NewGuid(), At, 1990, 7, null, null, null, null, null, null, "shop");

        var difference = new Difference(DifferenceKind.Unrecorded, new PaymentSides(row, []));

        Assert.Equal("shop", difference.Ledger!.Payer);
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
