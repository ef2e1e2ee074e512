using System.Diagnostics.Metrics;
using PaymentGateway.Processors;

namespace PaymentGateway.Tests.Telemetry;

/// <summary>A listener of metrics or traces that throws changes nothing in the life of a payment.</summary>
public sealed class ThrowingListenerTests : OwnRig
{
    private readonly ConcurrentDictionary<string, bool> _thrown = new();
    [PostgresFact]
    public async Task Payments_are_answered_charged_and_recorded_though_every_measurement_throws()
    {
        var gateway = await Rig.StartGatewayAsync();
        // Its first statement may be slow, and no other is.
        await gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 1);
        using var listener = ThrowAt(gateway.Part<GatewayMetrics>().Meter);

        var id = await gateway.PayOnceAsync();
        Assert.Equal(HttpStatusCode.Accepted, await gateway.PayAsync(id));
        Assert.Equal(HttpStatusCode.Conflict, await gateway.PayAsync(id, 20m));
        Assert.Equal(HttpStatusCode.BadRequest, await gateway.PayAsync(Guid.NewGuid(), -1m));
        await Rig.LedgersReachAsync(byDefault: 2);
        // Refused, and then in doubt until a look-up finds it.
        await Rig.Default.SetFaultsAsync(new { tooMany = true, times = 1 });
        await gateway.PayOnceAsync();
        await Rig.LedgersReachAsync(byDefault: 3);
        await Rig.Default.SetFaultsAsync(new { afterInsert = "reset", times = 1 });
        await gateway.PayOnceAsync();
        await Rig.LedgersReachAsync(byDefault: 4);
        await Rig.Default.SetFaultsAsync(new { status = 400, times = 1 });
        await gateway.PayOnceAsync();
        await Eventually.HoldsAsync(
            async () => await Rig.Database.ScalarAsync<long>(
                "SELECT count(*) FROM payments WHERE parked_at IS NOT NULL") == 1,
            "it is parked");
        await gateway.GetAsync("payments-summary");

        // No permit, payment or outcome is left behind.
        await Eventually.HoldsAsync(
            () => (gateway.Part<UnsettledPayments>().Count, gateway.Part<UnwrittenOutcomes>().Count,
                gateway.Part<ProcessorLanes>().Default.Read().InFlight) == (0, 0, 0),
            "everything has ended");
        await Rig.AssertLedgersAgreeAsync();
        Assert.Superset(
            new HashSet<string>
            {
                "accept.duration", "payments.accepted", "payments.refused", "store.batch.size", "store.duration",
                "processor.calls", "processor.call.duration", "doubts.resolved", "payments.parked",
                "record.batch.size", "record.duration", "summarise.duration", "payments.settled", "fee.paid",
            },
            _thrown.Keys.Select(name => name["payment_gateway.".Length..]).ToHashSet());
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void A_span_that_its_listener_fails_is_lost_and_nothing_else(bool atItsStart)
    {
        using var request = new Activity("request");
        request.SetIdFormat(ActivityIdFormat.W3C);
        request.ActivityTraceFlags = ActivityTraceFlags.Recorded;
        request.Start();
        var thrown = 0;
        using var listener = new ActivityListener
        {
            ShouldListenTo = source => source.Name == PaymentTrace.SourceName,
            // Of this trace only, for others may be traced beside it.
            Sample = (ref ActivityCreationOptions<ActivityContext> options) =>
                options.Parent.TraceId == request.TraceId
                    ? ActivitySamplingResult.AllDataAndRecorded
                    : ActivitySamplingResult.None,
            ActivityStarted = span => Throw(atItsStart && span.TraceId == request.TraceId),
            ActivityStopped = span => Throw(!atItsStart && span.TraceId == request.TraceId),
        };
        ActivitySource.AddActivityListener(listener);
        var trace = PaymentTrace.OfRequest()!;

        using (var charge = trace.StartCharge(Batches.Noon))
            charge.Tell(Tags.Of(Processor.Default), "settled");
        trace.Add("record", Batches.Noon);

        // The queue, the charge and the record.
        Assert.Equal(3, thrown);

        void Throw(bool isMeant)
        {
            if (!isMeant)
                return;

            thrown++;
            throw new InvalidOperationException("a listener failed");
        }
    }

    private MeterListener ThrowAt(Meter meter)
    {
        var all = new MeterListener
        {
            InstrumentPublished = (instrument, listener) =>
            {
                if (instrument.Meter == meter && !instrument.IsObservable)
                    listener.EnableMeasurementEvents(instrument);
            },
        };
        all.SetMeasurementEventCallback<long>((instrument, _, _, _) => Throw(instrument));
        all.SetMeasurementEventCallback<double>((instrument, _, _, _) => Throw(instrument));
        all.Start();
        return all;
    }

    private void Throw(Instrument instrument)
    {
        _thrown[instrument.Name] = true;
        throw new InvalidOperationException("a listener failed");
    }
}
