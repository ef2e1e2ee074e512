using PaymentGateway.Charging;
using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Operator.Admin;
using PaymentGateway.Recording;
using PaymentGateway.Storage;

namespace PaymentGateway.Hosting;

/// <summary>The gauges of the stages (docs/metrics.md): each reads its stage on demand.</summary>
internal static class StageGauges
{
    public static GatewayMetrics CreateMetrics(IServiceProvider parts)
    {
        var metrics = new GatewayMetrics(Part<GatewayOptions>());
        metrics.AddGauge("backlog.payments", "{payment}", "Payments in memory that are not settled.",
            () => Part<Lease>().Current.Unsettled.Count);
        metrics.AddGauge("backlog.queued", "{payment}", "Those of them that wait to be charged.",
            () => Part<Lease>().Current.Queue.Count);
        metrics.AddGauge("backlog.age", "s", "Age of the oldest payment that is not settled, also in the table.",
            () => AgeOf(Part<Lease>().Current.Backlog.Oldest(), Part<Lease>().Current.Unsettled.Oldest()));
        metrics.AddGauge("backlog.overflow", null, "1 while further payments wait in the table.",
            () => Part<Lease>().Current.Backlog.HasOverflow ? 1 : 0);
        metrics.AddGauge("payments.in_doubt", "{payment}", "Payments that were perhaps charged.",
            () => Part<Lease>().Current.Doubts.Count);
        // It has no value before it is known: a 0 would end an alert.
        metrics.AddGauge("parked.payments", "{payment}",
            "Payments that are parked now, in the whole ledger, up to 10,000.", () => Part<ParkedCount>().Read());
        metrics.AddGauge("outcomes.unwritten", "{payment}", "Outcomes that are not in the ledger yet.",
            () => Part<UnwrittenOutcomes>().Count);
        metrics.AddGauge("lease.held", null, "1 while this instance holds its lease.",
            () => Part<Lease>().IsTrusted ? 1 : 0);
        metrics.AddGauge("ledger.reset", null, "1 from a crash that emptied the ledger to the next purge.",
            () => Part<LedgerWatch>().ResetAt is null ? 0 : 1);
        metrics.AddLanes(processor => Part<ProcessorLanes>().Of(processor).Read());
        metrics.ReadPayers = () => Part<AdminTokens>().ReadPayers();
        metrics.Meter.AddRuntimeGauges();
        return metrics;

        // Stages are resolved when a gauge is read, because most stages need the metrics themselves.
        T Part<T>() where T : notnull => parts.GetRequiredService<T>();

        double AgeOf(DateTime? stored, DateTime? inMemory) =>
            new[] { stored, inMemory }.Min() is { } oldest
                ? Math.Max((Part<TimeProvider>().GetUtcNow().UtcDateTime - oldest).TotalSeconds, 0)
                : 0;
    }
}
