
namespace PaymentGateway.Tests.Queueing;

public sealed class DoubtMarksTests
{
    private readonly DoubtMarks _marks = new(TimeProvider.System);
    private readonly Payment _payment = new(Guid.NewGuid(), 1990, Batches.Noon, 1);

    [Fact]
    public void What_began_and_ended_is_told_as_it_is_now()
    {
        _marks.Begin(_payment);
        Assert.True(Assert.Single(_marks.TakeAll()).Value);

        _marks.Begin(_payment);
        _marks.End(_payment);

        Assert.False(Assert.Single(_marks.TakeAll()).Value);
        Assert.Empty(_marks.TakeAll());
    }

    [Fact]
    public void A_doubt_that_a_settlement_ended_before_it_was_told_never_is()
    {
        _marks.Begin(_payment);
        _marks.Forget(_payment);

        Assert.Empty(_marks.TakeAll());
    }

    [Fact]
    public void What_could_not_be_told_is_taken_again_but_for_what_has_changed_since()
    {
        var other = new Payment(_payment.Id, 1990, Batches.Noon, 1);
        _marks.Begin(_payment);
        _marks.Begin(other);
        var untold = _marks.TakeAll();
        _marks.End(_payment);

        _marks.Return(untold);

        var taken = _marks.TakeAll();
        Assert.Equal((false, true), (taken[_payment], taken[other]));
    }
}
