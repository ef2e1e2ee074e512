using PaymentGateway.Owning;

namespace PaymentGateway.Tests.Owning;

public sealed class OpenPaymentsTests
{
    private static readonly DateTime Start = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);

    private readonly OpenPayments open = new();

    [Fact]
    public void The_oldest_open_payment_says_since_when_something_is_open()
    {
        var (older, newer) = (At(1), At(2));
        open.Add(newer);
        open.Add(older);

        Assert.Equal(older.AcceptedAt, open.Oldest());
        open.Remove(older);
        Assert.Equal(newer.AcceptedAt, open.Oldest());
        open.Remove(newer);
        Assert.Null(open.Oldest());
    }

    [Fact]
    public void Two_acceptances_of_one_id_are_two_payments()
    {
        var id = Guid.NewGuid();
        var (purged, anew) = (new Payment(id, 1, Start, 1), new Payment(id, 1, Start, 1));
        open.Add(purged);
        open.Add(anew);

        open.Remove(purged);

        Assert.Same(anew, Assert.Single(open.Snapshot()));
    }

    [Fact]
    public void A_payment_counts_once_however_often_it_is_added()
    {
        var payment = At(1);

        open.Add(payment);
        open.Add(payment);

        Assert.Equal(1, open.Count);
        open.Remove(payment);
        Assert.Equal(0, open.Count);
    }

    private static Payment At(int second) => new(Guid.NewGuid(), 1990, Start.AddSeconds(second), 1);
}
