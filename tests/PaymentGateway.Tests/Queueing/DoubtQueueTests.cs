namespace PaymentGateway.Tests.Queueing;

public sealed class DoubtQueueTests
{
    private readonly DoubtQueue _doubts = new(TimeProvider.System);
    private readonly Payment _payment = new(Guid.NewGuid(), 1990, Batches.Noon, 1);

    [Fact]
    public void A_doubt_is_published_as_it_is_now_and_once()
    {
        _doubts.Add(_payment);
        Assert.True(Assert.Single(_doubts.TakeChanges()).Value);

        _doubts.Begin(_payment);
        _doubts.End(_payment);

        Assert.False(Assert.Single(_doubts.TakeChanges()).Value);
        Assert.Empty(_doubts.TakeChanges());
    }

    [Fact]
    public void A_doubt_that_a_settlement_ended_before_it_was_published_never_is()
    {
        _doubts.Add(_payment);
        _doubts.Forget(_payment);

        Assert.Empty(_doubts.TakeChanges());
    }
}
