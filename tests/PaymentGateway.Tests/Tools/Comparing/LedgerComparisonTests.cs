namespace PaymentGateway.Tests.Tools.Comparing;

/// <summary>The comparison finds each thing that may be wrong. LedgerCheckTests ask it of a whole system.</summary>
public sealed class LedgerComparisonTests
{
    private static readonly Guid Id = Guid.Parse("11111111-1111-4111-8111-111111111111");
    private static readonly DateTime Stamp = new(2026, 11, 23, 6, 0, 0, DateTimeKind.Utc);

    private readonly LoadLedger _sent = new();
    private readonly Dictionary<Guid, LedgerEntry> _ledger = [];
    private readonly List<ProcessorPayment> _byDefault = [];
    private readonly List<ProcessorPayment> _byFallback = [];

    public LedgerComparisonTests()
    {
        Send(LoadOutcome.Acknowledged);
        _ledger[Id] = new LedgerEntry(1, 9.90m, Stamp);
        _byDefault.Add(new ProcessorPayment(Id, 9.90m, Stamp));
    }

    [Fact]
    public void The_check_finds_nothing_where_all_agree() => Finds();

    [Fact]
    public void The_check_finds_an_acknowledged_payment_that_is_nowhere()
    {
        _ledger.Clear();
        _byDefault.Clear();

        Finds("1 acknowledged, and not in the ledger");
    }

    [Theory]
    [InlineData(LoadOutcome.Unavailable)]
    [InlineData(LoadOutcome.Failed)]
    public void A_payment_without_an_answer_may_be_nowhere(LoadOutcome outcome)
    {
        Send(outcome);
        _ledger.Clear();
        _byDefault.Clear();

        Finds();
    }

    [Fact]
    public void The_check_finds_a_refused_payment_that_is_settled()
    {
        Send(LoadOutcome.Refused);

        Finds("1 in the ledger, and not as it was sent");
    }

    [Fact]
    public void The_check_finds_a_settlement_that_its_processor_does_not_have()
    {
        _byDefault.Clear();

        Finds("1 in the ledger, and not so at their processor");
    }

    [Fact]
    public void The_check_finds_a_settlement_at_the_other_processor()
    {
        _byFallback.AddRange(_byDefault);
        _byDefault.Clear();

        Finds("1 in the ledger, and not so at their processor");
    }

    [Fact]
    public void A_settlement_by_fallback_is_looked_for_at_fallback()
    {
        _ledger[Id] = _ledger[Id] with { Processor = 2 };

        Finds("1 in the ledger, and not so at their processor");
        _byFallback.AddRange(_byDefault);
        _byDefault.Clear();
        Finds();
    }

    [Fact]
    public void The_check_finds_another_amount_at_the_processor()
    {
        _byDefault[0] = _byDefault[0] with { Amount = 9.91m };

        Finds("1 in the ledger, and not so at their processor");
    }

    [Fact]
    public void The_check_finds_another_requestedAt_at_the_processor()
    {
        _byDefault[0] = _byDefault[0] with { RequestedAt = Stamp.AddMicroseconds(1) };

        Finds("1 in the ledger, and not so at their processor");
    }

    [Fact]
    public void The_check_finds_a_charge_that_is_not_in_the_ledger()
    {
        _byFallback.Add(new ProcessorPayment(Guid.NewGuid(), 1m, Stamp));

        Finds("1 charged, and not in the ledger");
    }

    [Fact]
    public void The_check_finds_a_payment_that_both_processors_charged()
    {
        _byFallback.AddRange(_byDefault);

        Finds("1 charged by both processors");
    }

    [Fact]
    public void The_check_finds_a_payment_charged_before_and_after_a_restart_of_its_processor()
    {
        _byDefault.Add(_byDefault[0] with { RequestedAt = Stamp.AddSeconds(9) });

        Finds("1 charged twice by one processor");
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
            ["1 in the ledger, and not so at their processor", "1 charged by both processors"],
            Comparison().DifferencesAfterLoss().Select(difference => difference.Count));
    }

    [Fact]
    public void The_first_ten_of_a_difference_are_shown_and_all_are_counted()
    {
        var twelve = new Difference("strange", [.. Enumerable.Range(1, 12).Select(each => $"payment {each}")]);

        var lines = $"{twelve}".Split('\n');

        Assert.Equal("12 strange:", lines[0]);
        Assert.Equal(11, lines.Length);
    }

    private void Send(LoadOutcome outcome) =>
        _sent.Note(new LoadEntry(Id, 9.90m, outcome, 1, DateTimeOffset.UtcNow, TimeSpan.Zero, ""));

    private LedgerComparison Comparison() => new(_sent, _ledger, _byDefault, _byFallback);

    private void Finds(params string[] expected) =>
        Assert.Equal(expected, Comparison().Differences().Select(difference => difference.Count));
}
