namespace PaymentGateway.Tests.Leasing;

public sealed class DoubtQueueTests
{
    private readonly DoubtNotes _notes = new(TimeProvider.System);
    private readonly DoubtQueue _doubts;
    private readonly Payment _payment = new(Guid.NewGuid(), 1990, Batches.Noon, 1);

    public DoubtQueueTests() => _doubts = new DoubtQueue(_notes);

    [Fact]
    public void A_doubt_is_published_as_it_is_now_and_once()
    {
        _doubts.Add(_payment);
        Assert.True(Assert.Single(_notes.TakeChanges()).Value);

        _notes.Begin(_payment);
        _notes.End(_payment);

        Assert.False(Assert.Single(_notes.TakeChanges()).Value);
        Assert.Empty(_notes.TakeChanges());
    }

    // A silent processor would use up the permits of the others otherwise.
    [Theory]
    [InlineData(false, 1)]
    [InlineData(true, 0)]
    public void A_doubt_counts_at_its_processor_and_one_at_several_at_none(bool atBoth, int atDefault)
    {
        _payment.Adopt(atBoth ? Known.AtBoth : Known.AtDefault, since: 0);

        _doubts.Add(_payment);
        Assert.Equal((1, atDefault, 0), Counts());

        _doubts.Leave(_payment.MayBeAt);
        Assert.Equal((0, 0, 0), Counts());

        (int, int, int) Counts() => (_doubts.Count, _doubts.CountAt(Known.Default), _doubts.CountAt(Known.Fallback));
    }

    [Fact]
    public void A_doubt_that_a_settlement_ended_before_it_was_published_never_is()
    {
        _doubts.Add(_payment);
        _notes.Forget(_payment);

        Assert.Empty(_notes.TakeChanges());
    }
}
