namespace PaymentGateway.Tests.Support;

/// <summary>The comparison finds each difference. LedgerCheckTests ask it of a whole system.</summary>
public sealed class LedgerComparisonTests
{
    private static readonly Guid Id = Guid.Parse("11111111-1111-4111-8111-111111111111");
    private static readonly DateTime Stamp = new(2026, 11, 23, 6, 0, 0, DateTimeKind.Utc);

    private readonly LoadLedger _sent = new();
    private readonly Dictionary<Guid, LedgerEntry> _ledger = new() { [Id] = new LedgerEntry("default", 9.90m, Stamp) };
    private readonly List<ProcessorPayment> _byDefault = [new ProcessorPayment(Id, 9.90m, Stamp)];
    private readonly List<ProcessorPayment> _byFallback = [];
    private readonly List<ProcessorPayment> _byThird = [];

    public LedgerComparisonTests() => Send(LoadOutcome.Acknowledged);

    /// <summary>A change of ledgers that agree, and the difference that it makes.</summary>
    public static TheoryData<string, Action<LedgerComparisonTests>, string?> Changes { get; } = new()
    {
        { "all agree", _ => { }, null },
        { "an acknowledged payment is nowhere", all => all.Lose(), "1 acknowledged, and not in the ledger" },
        { "a payment that got 503 is nowhere", all => all.Send(LoadOutcome.Unavailable).Lose(), null },
        { "a payment without an answer is nowhere", all => all.Send(LoadOutcome.Failed).Lose(), null },
        {
            "a refused payment is settled", all => all.Send(LoadOutcome.Refused),
            "1 in the ledger, and not as it was sent"
        },
        {
            "a processor does not have a settlement", all => all._byDefault.Clear(),
            "1 in the ledger, and not so at their processor"
        },
        {
            "the other processor has a settlement", all => all.Move(), "1 in the ledger, and not so at their processor"
        },
        {
            "a settlement by fallback is at default", all => all.SettleByFallback(),
            "1 in the ledger, and not so at their processor"
        },
        { "a settlement by fallback is at fallback", all => all.SettleByFallback().Move(), null },
        {
            "the processor has another amount", all => all._byDefault[0] = all._byDefault[0] with { Amount = 9.91m },
            "1 in the ledger, and not so at their processor"
        },
        {
            "the processor has another requestedAt",
            all => all._byDefault[0] = all._byDefault[0] with { RequestedAt = Stamp.AddMicroseconds(1) },
            "1 in the ledger, and not so at their processor"
        },
        {
            "a charge is not in the ledger",
            all => all._byFallback.Add(new ProcessorPayment(Guid.NewGuid(), 1m, Stamp)),
            "1 charged, and not in the ledger"
        },
        {
            "two of three processors charged", all => all._byThird.AddRange(all._byDefault),
            "1 charged by several processors"
        },
        {
            "a processor charged before and after its restart",
            all => all._byDefault.Add(all._byDefault[0] with { RequestedAt = Stamp.AddSeconds(9) }),
            "1 charged twice by one processor"
        },
    };

    [Theory]
    [MemberData(nameof(Changes))]
    public void The_check_finds(string what, Action<LedgerComparisonTests> change, string? expected)
    {
        change(this);

        var found = Comparison().Differences().Select(difference => difference.Count);

        Assert.Equal((what, expected ?? ""), (what, string.Join("; ", found)));
    }

    [Fact]
    public void After_a_loss_missing_payments_are_no_difference()
    {
        _ledger.Clear();

        Assert.Empty(Comparison().DifferencesAfterLoss());
    }

    [Fact]
    public void After_a_loss_the_check_finds_a_settlement_without_a_charge_and_a_double_charge()
    {
        _ledger[Guid.NewGuid()] = _ledger[Id];
        _byFallback.AddRange(_byDefault);

        Assert.Equal(
            ["1 in the ledger, and not so at their processor", "1 charged by several processors"],
            Comparison().DifferencesAfterLoss().Select(difference => difference.Count));
    }

    [Fact]
    public void The_first_ten_of_a_difference_are_shown_and_all_are_counted()
    {
        var twelve = new Difference("strange", [.. Enumerable.Range(1, 12).Select(each => $"payment {each}")]);

        var lines = $"{twelve}".Split('\n');

        Assert.Equal(("12 strange:", 11), (lines[0], lines.Length));
    }

    private LedgerComparisonTests Send(LoadOutcome outcome)
    {
        _sent.Note(new LoadEntry(Id, 9.90m, outcome, 1, DateTimeOffset.UtcNow, TimeSpan.Zero, ""));
        return this;
    }

    private void Lose()
    {
        _ledger.Clear();
        _byDefault.Clear();
    }

    private void Move()
    {
        _byFallback.AddRange(_byDefault);
        _byDefault.Clear();
    }

    private LedgerComparisonTests SettleByFallback()
    {
        _ledger[Id] = _ledger[Id] with { Processor = "fallback" };
        return this;
    }

    private LedgerComparison Comparison() => new(
        _sent, _ledger, [new("default", _byDefault), new("fallback", _byFallback), new("third", _byThird)]);
}
