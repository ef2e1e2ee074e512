using PaymentGateway.Queueing;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Queueing;

public sealed class PaymentQueueTests
{
    private static readonly DateTime Start = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);

    private readonly PaymentQueue queue = new(TestSettings.Read(("Gateway:Intake:QueueCapacity", "3")).Intake);

    [Fact]
    public void Payments_are_taken_in_the_order_in_which_they_were_added()
    {
        Payment[] payments = [At(0), At(1), At(2)];

        Assert.All(payments, payment => Assert.True(queue.TryAdd(payment)));

        Assert.Equal(payments, TakeAll());
    }

    [Fact]
    public void A_full_queue_refuses_and_has_capacity_again_after_a_take()
    {
        Assert.Equal(3, queue.RemainingCapacity);
        Assert.True(queue.TryAdd(At(0)) && queue.TryAdd(At(1)) && queue.TryAdd(At(2)));
        Assert.Equal(0, queue.RemainingCapacity);

        var added = queue.TryAdd(At(3));

        Assert.False(added);
        Assert.True(queue.TryTake(out _));
        Assert.Equal(1, queue.RemainingCapacity);
        Assert.True(queue.TryAdd(At(3)));
    }

    [Fact]
    public void Returned_payments_are_taken_before_queued_ones_and_the_oldest_of_them_first()
    {
        var (first, second, third, queued) = (At(0), At(1), At(2), At(3));
        queue.TryAdd(queued);

        queue.Return(third);
        queue.Return(first);
        queue.Return(second);

        Assert.Equal([first, second, third, queued], TakeAll());
    }

    [Fact]
    public void A_returned_payment_fits_into_a_full_queue()
    {
        Payment[] queued = [At(1), At(2), At(3)];
        Array.ForEach(queued, payment => queue.TryAdd(payment));
        var returned = At(0);

        queue.Return(returned);

        Assert.Equal(4, queue.Count);
        Assert.Equal([returned, .. queued], TakeAll());
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_reader_that_waits_is_woken_by_an_addition_and_by_a_return(bool added)
    {
        var payment = At(0);
        var waiting = queue.TakeAsync().AsTask();
        Assert.False(waiting.IsCompleted);

        if (added)
            queue.TryAdd(payment);
        else
            queue.Return(payment);

        Assert.Same(payment, await waiting.WaitAsync(TimeSpan.FromSeconds(20)));
        Assert.Equal(0, queue.Count);
    }

    [Fact]
    public async Task A_reader_that_need_not_wait_takes_returned_payments_first()
    {
        var (returned, queued) = (At(0), At(1));
        queue.TryAdd(queued);
        queue.Return(returned);

        Assert.Same(returned, await queue.TakeAsync());
        Assert.Same(queued, await queue.TakeAsync());
    }

    [Fact]
    public async Task A_latched_queue_refuses_more_and_gives_out_what_it_holds()
    {
        var inside = At(0);
        queue.TryAdd(inside);

        queue.Latch();

        Assert.False(queue.TryAdd(At(1)));
        Assert.Same(inside, await queue.TakeAsync());
        Assert.Null(await queue.TakeAsync());
    }

    [Fact]
    public async Task A_latch_wakes_a_reader_that_waits()
    {
        var waiting = queue.TakeAsync().AsTask();

        queue.Latch();

        Assert.Null(await waiting.WaitAsync(TimeSpan.FromSeconds(20)));
    }

    [Fact]
    public async Task A_payment_returned_to_a_latched_queue_can_be_taken()
    {
        var returned = At(0);
        queue.Latch();

        queue.Return(returned);

        Assert.Same(returned, await queue.TakeAsync());
    }

    [Fact]
    public void An_empty_queue_gives_nothing()
    {
        queue.Return(At(0));
        Assert.True(queue.TryTake(out _));

        var taken = queue.TryTake(out _);

        Assert.False(taken);
        Assert.Equal(0, queue.Count - (3 - queue.RemainingCapacity));
    }

    private static Payment At(int second) => new(Guid.NewGuid(), 1990, Start.AddSeconds(second), 1);

    private List<Payment> TakeAll()
    {
        var taken = new List<Payment>();
        while (queue.TryTake(out var payment))
            taken.Add(payment);
        return taken;
    }
}
