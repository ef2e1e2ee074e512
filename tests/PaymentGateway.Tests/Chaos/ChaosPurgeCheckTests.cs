namespace PaymentGateway.Tests.Chaos;

public sealed class ChaosPurgeCheckTests
{
    private static readonly DateTimeOffset Called = new(2025, 7, 15, 12, 0, 0, TimeSpan.Zero);
    private static readonly ChaosPurge Purge = new("a test", Called, Called.AddMilliseconds(100));

    private readonly List<LoadEntry> _entries = [];
    private readonly Dictionary<Guid, LedgerEntry> _settlements = [];
    private readonly Dictionary<Guid, ProcessorPayment> _byDefault = [];
    private readonly Dictionary<Guid, ProcessorPayment> _byFallback = [];

    [Fact]
    public void Purged_payments_that_are_absent_and_new_ones_that_are_settled_pass()
    {
        Charge(_byDefault, Sent(-1_000));
        Settle(Sent(200));

        Assert.Empty(Find());
    }

    [Fact]
    public void The_check_finds_a_purged_payment_that_is_in_the_ledger_again()
    {
        Settle(Sent(-1_000));

        Assert.StartsWith("1 purged (a test), and in the ledger again", Assert.Single(Find()));
    }

    [Fact]
    public void The_check_finds_a_payment_after_the_purge_that_is_not_in_the_ledger()
    {
        Sent(200);

        Assert.StartsWith("1 acknowledged after the purge, and not in the ledger", Assert.Single(Find()));
    }

    [Fact]
    public void A_payment_whose_POST_overlapped_the_purge_may_be_absent_present_or_charged_at_both()
    {
        Sent(50);
        var there = Sent(-5, 10);
        Settle(there);
        Charge(_byFallback, there);

        Assert.Empty(Find());
    }

    [Fact]
    public void The_check_finds_a_purged_payment_charged_at_both_processors()
    {
        var old = Sent(-1_000);
        Charge(_byDefault, old);
        Charge(_byFallback, old);

        Assert.StartsWith("1 charged by several processors", Assert.Single(Find()));
    }

    [Fact]
    public void The_check_finds_another_amount_and_another_requestedAt()
    {
        var sent = Sent(200);
        Settle(sent);
        _settlements[sent.Id] = _settlements[sent.Id] with { Amount = 2m, RequestedAt = Called.UtcDateTime };

        Assert.Collection(
            Find(), one => Assert.StartsWith("1 in the purged ledger, and not as it was sent", one),
            two => Assert.StartsWith("1 in the purged ledger, and not so at their processor", two));
    }

    [Fact]
    public void The_check_finds_a_settlement_that_nobody_sent()
    {
        Settle(Entry(200, 10));

        Assert.StartsWith("1 in the purged ledger, and not as it was sent", Assert.Single(Find()));
    }

    [Fact]
    public void The_summary_must_equal_the_processors_without_the_purged_payments()
    {
        Charge(_byDefault, Sent(-1_000));
        Settle(Sent(200));

        var expected = Check().Expected(Called.AddDays(-1), Called.AddDays(1));

        Assert.Equal((new(1, 1m), new(0, 0m)), (expected.Default, expected.Fallback));
        Assert.Equal(0, Check().Expected(Called.AddDays(-1), Called).TotalRequests);
    }

    private static LoadEntry Entry(int sentMs, int latencyMs) => new(
        Guid.NewGuid(), 1m, LoadOutcome.Acknowledged, 1, Called.AddMilliseconds(sentMs),
        TimeSpan.FromMilliseconds(latencyMs), "");

    private LoadEntry Sent(int sentMs, int latencyMs = 10)
    {
        _entries.Add(Entry(sentMs, latencyMs));
        return _entries[^1];
    }

    private void Settle(LoadEntry entry)
    {
        Charge(_byDefault, entry);
        _settlements[entry.Id] = new LedgerEntry("default", entry.Amount, _byDefault[entry.Id].RequestedAt.UtcDateTime);
    }

    private static void Charge(Dictionary<Guid, ProcessorPayment> processor, LoadEntry entry) =>
        processor[entry.Id] = new ProcessorPayment(entry.Id, entry.Amount, entry.SentAt.AddMilliseconds(1));

    private IReadOnlyList<string> Find() => Check().Find();

    private ChaosPurgeCheck Check() => new(
        [Purge], _entries, _settlements, [new("default", _byDefault.Values), new("fallback", _byFallback.Values)]);
}
