using PaymentGateway.Accepting;
using PaymentGateway.Admin;
using PaymentGateway.Dashboard;
using PaymentGateway.Events;
using PaymentGateway.Leasing;
using PaymentGateway.Processors;
using PaymentGateway.Queueing;
using PaymentGateway.Reconciliation;
using PaymentGateway.Recording;
using PaymentGateway.Retention;
using PaymentGateway.Settling;
using PaymentGateway.Storage;
using PaymentGateway.Summarising;
using PaymentGateway.Telemetry;
using PaymentGateway.Webhooks;

namespace PaymentGateway.Hosting;

/// <summary>The parts of one instance.</summary>
internal static class StageSetup
{
    /// <summary>
    /// Hosted parts start in this order, the lease first. They stop in reverse: listener, detached tasks, intake,
    /// worker, doubts, writer, lease.
    /// </summary>
    public static void AddStages(
        this IServiceCollection services, GatewayOptions options, InstanceLock instance, TimeProvider clock)
    {
        services.AddSingleton(clock);
        services.AddSingleton(instance);
        services.AddSingleton<OperatorLog>();
        services.AddSingleton<AdminTokens>();
        services.AddSingleton<OperatorCalls>();
        services.AddSingleton<AdminListener>();
        services.AddSingleton<MatcherPolicy>(provider => provider.GetRequiredService<AdminListener>());
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
        services.AddSingleton<AcceptanceClock>();
        services.AddSingleton<UnsettledPayments>();
        services.AddSingleton<StoredBacklog>();
        services.AddSingleton<LowWaterMark>();
        services.AddSingleton<PaymentQueue>();
        services.AddSingleton<IntakeWriter>();
        services.AddSingleton<Intake>();
        ProcessorClient.AddConnections(services, options);
        services.AddSingleton<ProcessorLanes>();
        services.AddSingleton<DoubtQueue>();
        services.AddSingleton<OwnedPayments>();
        services.AddSingleton<ParkedCount>();
        services.AddSingleton<UnwrittenOutcomes>();
        services.AddSingleton<SettlementWriter>();

        services.AddSingleton<LedgerSummary>();
        // One for each kind of query, so that a flood of one leaves the other alone.
        services.AddTransient<QueryLimit>();
        services.AddSingleton<PaymentSearch>();
        services.AddSingleton<EventsEndpoint>();
        services.AddSingleton<WebhookClient>();
        services.AddSingleton<WebhookWorker>();
        services.AddSingleton(provider => new SummaryQueries(
            provider.GetRequiredService<LedgerSummary>().SummariseAsync, provider.GetRequiredService<TimeProvider>()));
        services.AddSingleton<ReconciliationRun>();
        services.AddSingleton<LedgerWatch>();
        services.AddSingleton<BrokenInserts>();
        services.AddSingleton<AdoptedPayments>();
        services.AddSingleton<OrphanAdoption>();
        services.AddSingleton<InstanceEpochs>();
        services.AddSingleton<LeaseDuties>();
        services.AddHostedService<LeaseKeeper>();
        services.AddHostedService(provider => provider.GetRequiredService<SettlementWriter>());
        services.AddSingleton<AdminSession>();
        services.AddSingleton<OpsEvents>();
        services.AddSingleton<OverviewStream>();
        services.AddSingleton<SharedFactsReader>();
        services.AddSingleton(provider => new OverviewBuilder(
            options, instance.Identity, provider.GetRequiredService<InstanceReader>().Bounds));
        services.AddHostedService<ReadingPublisher>();
        services.AddHostedService<HealthMonitor>();
        services.AddHostedService<DoubtPublisher>();
        services.AddHostedService<OperatorWords>();
        services.AddHostedService<DoubtResolver>();
        services.AddHostedService<SettlementWorker>();
        services.AddHostedService<BacklogSweep>();
        services.AddHostedService<RetentionSweep>();
        services.AddHostedService(provider => provider.GetRequiredService<WebhookWorker>());
        services.AddHostedService(provider => provider.GetRequiredService<Intake>());
        services.AddHostedService(provider => provider.GetRequiredService<DetachedTasks>());
    }
}
