namespace PaymentGateway.Tests.Leasing;

public sealed class PaymentQueueTests
{
    private static readonly DateTime Start = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);

    private readonly PaymentQueue _queue = new(TestSettings.Read(("Gateway:Intake:QueueCapacity", "3")).Intake);

    [Fact]
    public void A_full_queue_refuses_takes_back_what_was_taken_and_has_capacity_again_after_a_take()
    {
        Payment[] queued = [At(1), At(2), At(3)];
        Assert.Equal(3, _queue.RemainingCapacity);
        Assert.All(queued, payment => Assert.True(_queue.TryAdd(payment)));
        Assert.Equal(0, _queue.RemainingCapacity);
        var returned = At(0);

        Assert.False(_queue.TryAdd(At(4)));
        _queue.Return(returned);

        Assert.Equal(4, _queue.Count);
        Assert.Equal([returned, .. queued], TakeAll());
        Assert.False(_queue.TryTake(out _));
        Assert.Equal((0, 3), (_queue.Count, _queue.RemainingCapacity));
        Assert.True(_queue.TryAdd(At(4)));
    }

    [Fact]
    public void Returned_payments_are_taken_before_queued_ones_and_the_oldest_of_them_first()
    {
        var (first, second, third, queued) = (At(0), At(1), At(2), At(3));
        _queue.TryAdd(queued);

        _queue.Return(third);
        _queue.Return(first);
        _queue.Return(second);

        Assert.Equal([first, second, third, queued], TakeAll());
    }

    [Fact]
    public void A_refused_payment_is_taken_after_those_that_were_here_and_before_those_that_came_later()
    {
        var (refused, returned, here, later) = (At(0), At(3), At(1), At(2));
        _queue.TryAdd(here);
        _queue.ReturnRefused(refused);
        _queue.Return(returned);
        _queue.TryAdd(later);

        Assert.Equal([returned, here, refused, later], TakeAll());
    }

    [Fact]
    public void A_refused_payment_waits_for_nothing_in_an_empty_queue_nor_for_what_comes_into_a_full_one()
    {
        var refused = At(0);
        _queue.ReturnRefused(refused);
        Assert.Equal([refused], TakeAll());

        Payment[] here = [At(1), At(2), At(3)];
        Array.ForEach(here, payment => _queue.TryAdd(payment));
        _queue.ReturnRefused(refused);
        var taken = new List<Payment>();
        while (taken.LastOrDefault() != refused && _queue.TryTake(out var payment))
        {
            taken.Add(payment);
            _queue.TryAdd(At(4));
        }

        Assert.Equal([.. here, refused], taken);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_reader_that_waits_is_woken_by_an_addition_and_by_a_return(bool added)
    {
        var payment = At(0);
        var waiting = _queue.TakeAsync().AsTask();
        Assert.False(waiting.IsCompleted);

        if (added)
            _queue.TryAdd(payment);
        else
            _queue.Return(payment);

        Assert.Same(payment, await waiting.WaitAsync(TimeSpan.FromSeconds(20)));
        Assert.Equal(0, _queue.Count);
    }

    [Fact]
    public async Task A_latched_queue_refuses_more_gives_out_what_it_holds_or_gets_back_and_wakes_its_reader()
    {
        var (inside, returned) = (At(1), At(0));
        _queue.TryAdd(inside);

        _queue.Latch();
        _queue.Return(returned);

        Assert.False(_queue.TryAdd(At(2)));
        Assert.Same(returned, await _queue.TakeAsync());
        Assert.Same(inside, await _queue.TakeAsync());
        Assert.Null(await _queue.TakeAsync());
        var other = new PaymentQueue(TestSettings.Read().Intake);
        var waiting = other.TakeAsync().AsTask();
        other.Latch();
        Assert.Null(await waiting.WaitAsync(TimeSpan.FromSeconds(20)));
    }

    private static Payment At(int second) => new(Guid.NewGuid(), 1990, Start.AddSeconds(second), 1);

    private List<Payment> TakeAll()
    {
        var taken = new List<Payment>();
        while (_queue.TryTake(out var payment))
            taken.Add(payment);
        return taken;
    }
}
