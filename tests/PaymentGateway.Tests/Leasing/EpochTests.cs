namespace PaymentGateway.Tests.Leasing;

/// <summary>When an epoch is at rest, and what the next one learns from it.</summary>
public sealed class EpochTests
{
    private readonly Epoch _epoch = Batches.NewEpoch();

    [Fact]
    public void It_is_at_rest_when_it_has_ended_and_the_last_charge_is_answered()
    {
        _epoch.Enter();
        Assert.False(_epoch.IsAtRest);

        _epoch.End();
        Assert.Equal((true, false, false), (_epoch.HasEnded, _epoch.IsTrusted, _epoch.IsAtRest));
        _epoch.Leave();

        Assert.True(_epoch.IsAtRest);
    }

    [Fact]
    public async Task Its_queue_gives_nothing_to_wait_for_when_it_has_ended()
    {
        var taking = _epoch.Queue.TakeAsync().AsTask();

        _epoch.End();

        Assert.Null(await taking.WaitAsync(TimeSpan.FromSeconds(20)));
    }

    [Fact]
    public void The_low_water_mark_is_before_each_payment_wherever_it_is()
    {
        var accepting = _epoch.Acceptances.Begin(1);
        Assert.Equal(accepting.From, _epoch.ReadLowWaterMark());
        _epoch.Backlog.AddBroken(new AcceptanceBatch(1, Batches.Noon.AddHours(3), Batches.Noon.AddHours(3)));
        Assert.Equal(Batches.Noon.AddHours(3), _epoch.ReadLowWaterMark());
        _epoch.Backlog.Add(new AcceptanceBatch(2, Batches.Noon.AddHours(2), Batches.Noon.AddHours(2)));
        Assert.Equal(Batches.Noon.AddHours(2), _epoch.ReadLowWaterMark());
        _epoch.Unsettled.Add(new Payment(Guid.NewGuid(), 1, Batches.Noon.AddHours(1), 1));
        Assert.Equal(Batches.Noon.AddHours(1), _epoch.ReadLowWaterMark());
        _epoch.BeginAdoption(Batches.Noon);
        Assert.Equal(Batches.Noon, _epoch.ReadLowWaterMark());
        _epoch.EndAdoption();
        Assert.Equal(Batches.Noon.AddHours(1), _epoch.ReadLowWaterMark());
    }

    [Fact]
    public void It_knows_its_payments_by_their_acceptance_and_what_was_never_in_memory()
    {
        var payment = new Payment(Guid.NewGuid(), 1, Batches.Noon, 1);
        _epoch.Unsettled.Add(payment);
        // As before a purge that was not noticed yet: its row is gone.
        _epoch.Unsettled.Add(new Payment(payment.Id, 1, Batches.Noon.AddSeconds(-1), 1));
        _epoch.Backlog.Add(new AcceptanceBatch(1, Batches.Noon.AddHours(1), Batches.Noon.AddHours(2)));
        _epoch.Backlog.AddBroken(new AcceptanceBatch(2, Batches.Noon.AddHours(3), Batches.Noon.AddHours(3)));

        Assert.Same(payment, _epoch.Find(payment.Id, Batches.Noon));
        Assert.Null(_epoch.Find(payment.Id, Batches.Noon.AddSeconds(2)));
        Assert.True(_epoch.IsSurelyUnsent(Batches.Noon.AddHours(2)));
        Assert.True(_epoch.IsSurelyUnsent(Batches.Noon.AddHours(3)));
        Assert.False(_epoch.IsSurelyUnsent(Batches.Noon));
        _epoch.Backlog.Advance(Batches.Noon.AddHours(1.5));
        Assert.False(_epoch.IsSurelyUnsent(Batches.Noon.AddHours(1)));
    }
}
