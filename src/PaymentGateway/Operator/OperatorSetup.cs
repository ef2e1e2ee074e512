using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Operator.Admin;
using PaymentGateway.Operator.Dashboard;
using PaymentGateway.Operator.Events;
using PaymentGateway.Operator.Reconciliation;
using PaymentGateway.Operator.Retention;
using PaymentGateway.Operator.Webhooks;

namespace PaymentGateway.Operator;

/// <summary>
/// The features for an operator. Each registers and maps itself in its own folder, and has a line in each of these
/// lists; one that runs beside the requests has a third line, in the list of hosted parts (StageSetup).
/// </summary>
internal static class OperatorSetup
{
    /// <param name="settings">A feature reads its own settings.</param>
    public static void AddOperator(this IServiceCollection services, SettingsReader settings)
    {
        // One for each kind of query, so that a flood of one leaves the other alone.
        services.AddTransient<QueryLimit>();
        services.AddAdmin();
        services.AddReconciliations();
        services.AddEvents();
        services.AddWebhooks(settings);
        services.AddRetention();
        services.AddDashboard();
    }

    public static void MapOperator(this IEndpointRouteBuilder routes)
    {
        var admin = routes.MapAdminGroup();
        routes.MapAdmin();
        admin.MapReconciliations();
        routes.MapAdminGroup(Role.Metrics).MapMetrics();
        admin.MapEvents();
        admin.MapWebhooks();
        routes.MapDashboard();
    }
}
