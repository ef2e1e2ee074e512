using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Chaos;

/// <summary>The auditor of the rig judges what can be judged, and can find fault.</summary>
public sealed class ChaosAuditTests
{
    private static readonly DateTimeOffset Now = new(2025, 7, 15, 12, 0, 0, TimeSpan.Zero);
    private static readonly GatewaySummary Processors = new(new GatewayTotals(10, 100m), new GatewayTotals(5, 50m));

    [Fact]
    public void A_closed_window_ends_before_the_oldest_unsettled_payment_was_accepted()
    {
        var open = Now.UtcDateTime.AddSeconds(-9);

        Assert.Equal(Now.AddSeconds(-9).AddMicroseconds(-1), ChaosAudit.ClosedBefore(Now, open));
    }

    [Fact]
    public void Without_an_unsettled_payment_a_closed_window_ends_shortly_before_the_audit()
    {
        Assert.InRange(ChaosAudit.ClosedBefore(Now, null), Now.AddSeconds(-1), Now.AddTicks(-1));
        Assert.InRange(ChaosAudit.ClosedBefore(Now, Now.UtcDateTime), Now.AddSeconds(-1), Now.AddTicks(-1));
    }

    [Fact]
    public void Ledgers_that_agree_show_neither_a_difference_nor_an_excess()
    {
        Assert.Null(Of(Processors).DifferenceIfClosed());
        Assert.Null(Of(Processors).ExcessInAnyWindow());
    }

    [Fact]
    public void Missing_payments_are_a_difference_in_closed_windows_only()
    {
        var fewer = Processors with { Fallback = new GatewayTotals(4, 40m) };

        Assert.Contains("differ", Of(fewer).DifferenceIfClosed(), StringComparison.Ordinal);
        Assert.Null(Of(fewer).ExcessInAnyWindow());
    }

    [Theory]
    [InlineData(11, 100)]
    [InlineData(10, 101)]
    public void More_than_a_processor_has_is_wrong_in_any_window(long requests, decimal amount)
    {
        var more = Processors with { Default = new GatewayTotals(requests, amount) };

        Assert.NotNull(Of(more).DifferenceIfClosed());
        Assert.Contains("more than the processors", Of(more).ExcessInAnyWindow(), StringComparison.Ordinal);
    }

    private static ChaosAudit Of(GatewaySummary gateway) => new("nginx", Now.AddMinutes(-1), Now, gateway, Processors);
}
