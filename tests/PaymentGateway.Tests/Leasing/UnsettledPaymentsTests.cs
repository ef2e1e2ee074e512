using PaymentGateway.Leasing;

namespace PaymentGateway.Tests.Leasing;

public sealed class UnsettledPaymentsTests
{
    private static readonly DateTime Start = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);

    private readonly UnsettledPayments unsettled = new();

    [Fact]
    public void The_oldest_unsettled_payment_is_known_by_its_acceptance_time()
    {
        var (older, newer) = (At(1), At(2));
        unsettled.Add(newer);
        unsettled.Add(older);

        Assert.Equal(older.AcceptedAt, unsettled.Oldest());
        unsettled.Remove(older);
        Assert.Equal(newer.AcceptedAt, unsettled.Oldest());
        unsettled.Remove(newer);
        Assert.Null(unsettled.Oldest());
    }

    [Fact]
    public void Two_acceptances_of_one_id_are_two_payments()
    {
        var id = Guid.NewGuid();
        var (purged, anew) = (new Payment(id, 1, Start, 1), new Payment(id, 1, Start, 1));
        unsettled.Add(purged);
        unsettled.Add(anew);

        unsettled.Remove(purged);

        Assert.Same(anew, Assert.Single(unsettled.Snapshot()));
    }

    [Fact]
    public void A_payment_counts_once_however_often_it_is_added()
    {
        var payment = At(1);

        unsettled.Add(payment);
        unsettled.Add(payment);

        Assert.Equal(1, unsettled.Count);
        unsettled.Remove(payment);
        Assert.Equal(0, unsettled.Count);
    }

    [Fact]
    public void Payments_read_before_a_purge_was_noticed_are_not_added_after_it()
    {
        var since = unsettled.Generation;
        var known = At(1);
        unsettled.Add(known);

        Assert.Same(known, Assert.Single(unsettled.BeginGeneration()));

        Assert.False(unsettled.TryAdd([At(2), At(3)], since));
        Assert.Same(known, Assert.Single(unsettled.Snapshot()));
        Assert.True(unsettled.TryAdd([At(4)], unsettled.Generation));
        Assert.Equal(2, unsettled.Count);
    }

    [Fact]
    public async Task A_payment_added_while_purges_are_noticed_is_seen_by_one_of_them_or_not_added()
    {
        const int Count = 20_000;
        var noticed = new HashSet<Payment>(ReferenceEqualityComparer.Instance);
        var added = new List<(Payment Payment, int Since)>();
        using var end = new CancellationTokenSource();
        var noticing = Task.Run(() =>
        {
            while (!end.IsCancellationRequested)
                noticed.UnionWith(unsettled.BeginGeneration());
        });

        for (var i = 0; i < Count; i++)
        {
            var (payment, since) = (At(i), unsettled.Generation);
            if (unsettled.TryAdd([payment], since))
                added.Add((payment, since));
        }

        await end.CancelAsync();
        await noticing;
        // Added, and a purge was noticed since: then that one has found it.
        Assert.NotEmpty(added);
        Assert.All(added, one => Assert.True(one.Since == unsettled.Generation || noticed.Contains(one.Payment)));
    }

    private static Payment At(int second) => new(Guid.NewGuid(), 1990, Start.AddSeconds(second), 1);
}
