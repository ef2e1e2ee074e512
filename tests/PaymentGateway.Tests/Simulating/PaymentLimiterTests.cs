namespace PaymentGateway.Tests.Simulating;

public sealed class PaymentLimiterTests : OneSimulator
{
    private static readonly TimeSpan Delay = TimeSpan.FromSeconds(1);

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        await Simulator.SetDelayAsync(Delay);
    }

    [Fact]
    public async Task Past_800_in_progress_and_500_queued_a_payment_and_a_look_up_get_429_and_other_calls_do_not_wait()
    {
        var charges = await ChargeManyAsync(1_300);

        using var payment = await Simulator.Client.ChargeAsync(Guid.NewGuid());
        using var lookUp = await Simulator.Client.LookUpAsync(Guid.NewGuid());

        Assert.Equal(HttpStatusCode.TooManyRequests, payment.StatusCode);
        Assert.Equal("5", payment.Headers.GetValues("Retry-After").Single());
        Assert.Equal(HttpStatusCode.TooManyRequests, lookUp.StatusCode);
        using var health = await Simulator.Client.CheckHealthAsync();
        Assert.Equal(HttpStatusCode.OK, health.StatusCode);
        Assert.Equal(0, (await Simulator.SummariseAsync()).TotalRequests);
        var calls = await Simulator.CallsAsync();
        Assert.Equal((800, 800, 500, 2L), (calls.MaxInFlight, calls.InFlight, calls.Queued, calls.Refused429));

        Clock.Advance(Delay);
        await HoldsAsync(inFlight: 500, queued: 0);
        await Eventually.HoldsAsync(() => Clock.ArmedTimers == 500, "the queued payments are in their delay");
        Clock.Advance(Delay);

        Assert.All(await Task.WhenAll(charges), answer => Assert.Equal(HttpStatusCode.OK, answer.StatusCode));
        Assert.Equal(1_300, (await Simulator.PaymentsAsync()).Count);
    }

    [Fact]
    public async Task Hanging_up_in_the_queue_cancels_the_call_and_releases_its_permit()
    {
        var id = Guid.NewGuid();
        var charges = await ChargeManyAsync(800);
        using var hangUp = new CancellationTokenSource();
        var queued = Simulator.Client.ChargeAsync(id, cancellation: hangUp.Token);
        await HoldsAsync(inFlight: 800, queued: 1);

        await hangUp.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => queued);
        await HoldsAsync(inFlight: 800, queued: 0);
        Clock.Advance(Delay);

        await Task.WhenAll(charges);
        await HoldsAsync(inFlight: 0, queued: 0);
        var payments = await Simulator.PaymentsAsync();
        Assert.Equal(800, payments.Count);
        Assert.DoesNotContain(id, payments);
    }

    private async Task<Task<HttpResponseMessage>[]> ChargeManyAsync(int count)
    {
        var charges = Enumerable.Range(0, count).Select(_ => Simulator.Client.ChargeAsync(Guid.NewGuid())).ToArray();
        await HoldsAsync(Math.Min(count, 800), Math.Max(count - 800, 0));
        await Eventually.HoldsAsync(
            () => Clock.ArmedTimers == Math.Min(count, 800), "the payments are in their delay");
        return charges;
    }

    private Task HoldsAsync(int inFlight, int queued) => Eventually.HoldsAsync(
        async () => await Simulator.CallsAsync() is var calls && calls.InFlight == inFlight && calls.Queued == queued,
        $"{inFlight} in progress, {queued} queued");
}
