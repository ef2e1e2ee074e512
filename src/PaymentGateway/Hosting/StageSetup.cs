using PaymentGateway.Accepting;
using PaymentGateway.Charging;
using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Operator.Admin;
using PaymentGateway.Operator.Dashboard;
using PaymentGateway.Operator.Retention;
using PaymentGateway.Operator.Webhooks;
using PaymentGateway.Recording;
using PaymentGateway.Storage;
using PaymentGateway.Summarising;

namespace PaymentGateway.Hosting;

/// <summary>The parts of one instance.</summary>
internal static class StageSetup
{
    public static void AddStages(
        this IServiceCollection services, GatewayOptions options, InstanceLock instance, TimeProvider clock)
    {
        services.AddSingleton(clock);
        services.AddSingleton(instance);
        services.AddSingleton(options);
        services.AddSingleton(StageGauges.CreateMetrics);
        services.AddSingleton<MetricListener>();
        services.AddSingleton<InstanceReader>();
        services.AddSingleton<DetachedTasks>();
        services.AddSingleton(options.Intake);
        services.AddSingleton(options.Routing);
        services.AddSingleton(options.Settling);
        services.AddSingleton(options.Ledger.Recording);
        services.AddSingleton(options.Leasing);

        services.AddLedger(options);
        services.AddSingleton<Lease>();
        services.AddSingleton<IntakeWriter>();
        services.AddSingleton<Intake>();
        ProcessorConnections.Add(services, options);
        services.AddSingleton<ProcessorLanes>();
        services.AddSingleton<DoubtNotes>();
        services.AddSingleton<OwnedPayments>();
        services.AddSingleton<ParkedCount>();
        services.AddSingleton<UnwrittenOutcomes>();
        services.AddSingleton<OutcomeWriter>();

        services.AddAudit();
        services.AddSingleton<LedgerWatch>();
        services.AddSingleton<AdoptedPayments>();
        services.AddSingleton<OrphanAdoption>();
        services.AddSingleton<InstanceEpochs>();
        services.AddSingleton<LeaseDuties>();
        services.AddHostedParts();
    }

    /// <summary>
    /// The parts that run beside the requests. They start in this order and stop in reverse, one after another, and
    /// each may rely on those before it until it has stopped itself. So a stop first takes no more payments, then lets
    /// charges end, then writes their outcomes, and gives up the lease last: without the lease, other instances would
    /// adopt payments that are still being charged here.
    /// </summary>
    private static void AddHostedParts(this IServiceCollection services)
    {
        // An instance accepts and charges with a lease only. It writes outcomes without one too, because they are true
        // whoever owns the payment.
        services.AddHostedService<LeaseKeeper>();
        // Before the listener opens, because a token of a payer without a number admits nobody.
        services.AddHostedService<TokenWatch>();
        // Before the parts that charge, because their last outcomes must be written.
        services.AddHostedService(provider => provider.GetRequiredService<OutcomeWriter>());
        // While an instance drains, the page /ops still shows it.
        services.AddHostedService<ReadingPublisher>();
        // The worker routes by the reports of health.
        services.AddHostedService<HealthMonitor>();
        // Stores the doubts that are left by the worker's last charges, and which of them a processor holds.
        services.AddHostedService<DoubtPublisher>();
        // An operator's words end doubts of the resolver.
        services.AddHostedService<OperatorWords>();
        // Resolves the doubts of the worker's last charges.
        services.AddHostedService<DoubtResolver>();
        services.AddHostedService<SettlementWorker>();
        // Fills the worker's queue.
        services.AddHostedService<BacklogSweep>();
        // No part relies on these two: they delete old payments, and deliver events.
        services.AddHostedService<RetentionSweep>();
        services.AddHostedService(provider => provider.GetRequiredService<WebhookWorker>());
        // Its payments go to the worker's queue.
        services.AddHostedService(provider => provider.GetRequiredService<Intake>());
        // The first to stop, because a task that the stop of another part breaks off has not failed.
        services.AddHostedService(provider => provider.GetRequiredService<DetachedTasks>());
    }
}
