namespace PaymentGateway.Tests.Chaos;

public sealed class ChaosPurgeCheckTests
{
    private static readonly DateTimeOffset Called = new(2025, 7, 15, 12, 0, 0, TimeSpan.Zero);
    private static readonly ChaosPurge Purge = new("a test", Called, Called.AddMilliseconds(100));

    private readonly List<LoadEntry> _entries = [];
    private readonly Dictionary<Guid, LedgerEntry> _settlements = [];
    private readonly Dictionary<Guid, ProcessorPayment> _byDefault = [];
    private readonly Dictionary<Guid, ProcessorPayment> _byFallback = [];

    /// <summary>What was sent, stored and charged around a purge, and what the check finds in it.</summary>
    public static TheoryData<string, Action<ChaosPurgeCheckTests>, string[]> Cases { get; } = new()
    {
        {
            "purged payments are absent and new ones settled",
            all =>
            {
                Charge(all._byDefault, all.Sent(-1_000));
                all.Settle(all.Sent(200));
            },
            []
        },
        {
            "a purged payment is in the ledger again", all => all.Settle(all.Sent(-1_000)),
            ["1 purged (a test), and in the ledger again"]
        },
        {
            "a payment after the purge is not in the ledger", all => all.Sent(200),
            ["1 acknowledged after the purge, and not in the ledger"]
        },
        {
            "a POST that overlapped the purge may be absent, present or charged at both",
            all =>
            {
                all.Sent(50);
                var there = all.Sent(-5, 10);
                all.Settle(there);
                Charge(all._byFallback, there);
            },
            []
        },
        {
            "both processors charged a purged payment",
            all =>
            {
                var old = all.Sent(-1_000);
                Charge(all._byDefault, old);
                Charge(all._byFallback, old);
            },
            ["1 charged by several processors"]
        },
        {
            "a settlement has another amount and another requestedAt",
            all =>
            {
                var id = all.Settle(all.Sent(200));
                all._settlements[id] = all._settlements[id] with { Amount = 2m, RequestedAt = Called.UtcDateTime };
            },
            ["1 in the purged ledger, and not as it was sent", "1 in the purged ledger, and not so at their processor"]
        },
        {
            "nobody sent a settlement", all => all.Settle(Entry(200, 10)),
            ["1 in the purged ledger, and not as it was sent"]
        },
    };

    [Theory]
    [MemberData(nameof(Cases))]
    public void The_check_finds(string what, Action<ChaosPurgeCheckTests> happens, string[] expected)
    {
        happens(this);

        var found = Check().Find();

        Assert.Equal((what, expected.Length), (what, found.Count));
        Assert.All(found.Zip(expected), pair => Assert.StartsWith(pair.Second, pair.First, StringComparison.Ordinal));
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

    private Guid Settle(LoadEntry entry)
    {
        Charge(_byDefault, entry);
        _settlements[entry.Id] = new LedgerEntry("default", entry.Amount, _byDefault[entry.Id].RequestedAt.UtcDateTime);
        return entry.Id;
    }

    private static void Charge(Dictionary<Guid, ProcessorPayment> processor, LoadEntry entry) =>
        processor[entry.Id] = new ProcessorPayment(entry.Id, entry.Amount, entry.SentAt.AddMilliseconds(1));

    private ChaosPurgeCheck Check() => new(
        [Purge], _entries, _settlements, [new("default", _byDefault.Values), new("fallback", _byFallback.Values)]);
}
