namespace PaymentGateway.Tests.Leasing;

public sealed class UnsettledPaymentsTests
{
    private static readonly DateTime Start = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);

    private readonly UnsettledPayments _unsettled = new(TimeProvider.System);

    [Fact]
    public void The_oldest_unsettled_payment_is_known_by_its_acceptance_time()
    {
        var (older, newer) = (At(1), At(2));
        _unsettled.Add(newer);
        _unsettled.Add(older);

        Assert.Equal(older.AcceptedAt, _unsettled.Oldest());
        _unsettled.Remove(older);
        Assert.Equal(newer.AcceptedAt, _unsettled.Oldest());
        _unsettled.Remove(newer);
        Assert.Null(_unsettled.Oldest());
    }

    [Fact]
    public void Two_acceptances_of_one_id_are_two_payments_and_each_counts_once()
    {
        var id = Guid.NewGuid();
        var (purged, anew) = (new Payment(id, 1, Start, 1), new Payment(id, 1, Start, 1));
        foreach (var payment in new[] { purged, anew, anew })
            _unsettled.Add(payment);
        Assert.Equal(2, _unsettled.Count);

        _unsettled.Remove(purged);

        Assert.Same(anew, Assert.Single(_unsettled.Snapshot()));
    }

    private static Payment At(int second) => new(Guid.NewGuid(), 1990, Start.AddSeconds(second), 1);
}
