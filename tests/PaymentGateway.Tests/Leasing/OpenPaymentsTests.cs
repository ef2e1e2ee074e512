using PaymentGateway.Leasing;

namespace PaymentGateway.Tests.Leasing;

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

    [Fact]
    public void What_was_read_before_a_purge_was_noticed_is_not_added_after_it()
    {
        var since = open.Generation;
        var known = At(1);
        open.Add(known);

        Assert.Same(known, Assert.Single(open.BeginGeneration()));

        Assert.False(open.TryAdd([At(2), At(3)], since));
        Assert.Same(known, Assert.Single(open.Snapshot()));
        Assert.True(open.TryAdd([At(4)], open.Generation));
        Assert.Equal(2, open.Count);
    }

    [Fact]
    public async Task Whatever_is_added_while_purges_are_noticed_is_found_by_one_or_not_added()
    {
        const int Count = 20_000;
        var noticed = new HashSet<Payment>(ReferenceEqualityComparer.Instance);
        var added = new List<(Payment Payment, int Since)>();
        using var end = new CancellationTokenSource();
        var noticing = Task.Run(() =>
        {
            while (!end.IsCancellationRequested)
                noticed.UnionWith(open.BeginGeneration());
        });

        for (var i = 0; i < Count; i++)
        {
            var (payment, since) = (At(i), open.Generation);
            if (open.TryAdd([payment], since))
                added.Add((payment, since));
        }

        await end.CancelAsync();
        await noticing;
        // Added, and a purge was noticed since: then that one has found it.
        Assert.NotEmpty(added);
        Assert.All(added, one => Assert.True(one.Since == open.Generation || noticed.Contains(one.Payment)));
    }

    private static Payment At(int second) => new(Guid.NewGuid(), 1990, Start.AddSeconds(second), 1);
}
