using System.Diagnostics.Metrics;

namespace PaymentGateway.Tests.Charging;

/// <summary>What becomes of a payment whose charge meets an exception of a kind that nobody expects there.</summary>
public sealed class UnexpectedFailureTests : OneWorker
{
    [PostgresFact]
    public async Task A_charge_that_the_metrics_cannot_count_is_settled_and_gives_its_permit_back()
    {
        await StartAsync();
        var calls = Stages.Part<GatewayMetrics>().Calls;
        using var broken = new MeterListener
        {
            InstrumentPublished = (instrument, listener) =>
            {
                if (instrument == calls)
                    listener.EnableMeasurementEvents(instrument);
            },
        };
        broken.SetMeasurementEventCallback<long>(
            (_, _, _, _) => throw new InvalidOperationException("It cannot be counted."));
        broken.Start();

        var payment = Pay();

        Assert.Same(payment, Assert.Single(await TakeOutcomesAsync(1)).Payment);
        Assert.Equal((0, (1, 0)), (Stages.Default.Read().InFlight, await Rig.PostsAsync()));
    }

    [PostgresFact]
    public async Task A_charge_that_breaks_before_it_is_sent_is_in_doubt_and_is_settled_in_the_end()
    {
        await StartAsync();
        var (request, left) = (NewRequest(), 1);
        using var broken = new ActivityListener
        {
            ShouldListenTo = source => source.Name == PaymentTrace.SourceName,
            Sample = (ref ActivityCreationOptions<ActivityContext> one) => one.TraceId == request.TraceId
                ? ActivitySamplingResult.AllData
                : ActivitySamplingResult.None,
            ActivityStarted = started =>
            {
                if (started.OperationName == "charge" && Interlocked.Decrement(ref left) == 0)
                    throw new InvalidOperationException("It cannot be traced.");
            },
        };
        ActivitySource.AddActivityListener(broken);
        var payment = new Payment(Guid.NewGuid(), 1990, NewPayment().AcceptedAt, Epoch)
        {
            Trace = new PaymentTrace(request),
        };

        Stages.Add(payment);

        Assert.Same(payment, Assert.Single(await TakeOutcomesAsync(1)).Payment);
        Assert.Equal((0, (1, 0)), (Stages.Default.Read().InFlight, await Rig.PostsAsync()));
    }

    private static ActivityContext NewRequest() => new(
        ActivityTraceId.CreateRandom(), ActivitySpanId.CreateRandom(), ActivityTraceFlags.Recorded);
}
