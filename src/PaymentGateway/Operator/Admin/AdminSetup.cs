using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Admin;

/// <summary>Registers what admits an operator, and maps the calls that are no other feature's.</summary>
internal static class AdminSetup
{
    public static void AddAdmin(this IServiceCollection services)
    {
        services.AddSingleton<PaymentQueryStore>();
        services.AddSingleton<OperatorActionStore>();
        services.AddSingleton<OperatorLog>();
        services.AddSingleton<AdminTokens>();
        services.AddSingleton<AdminSession>();
        services.AddSingleton<OperatorCalls>();
        services.AddSingleton<AdminListener>();
        services.AddSingleton<MatcherPolicy>(provider => provider.GetRequiredService<AdminListener>());
        services.AddSingleton<PaymentSearch>();
    }

    public static void MapAdmin(this IEndpointRouteBuilder routes)
    {
        var admin = routes.MapAdminGroup();
        admin.MapReplays();
        admin.MapNotCharged();
        admin.MapActions();
        routes.MapLookUpGroup().MapLookUp();
        routes.MapSharedAdminGroup().MapPaymentList();
    }
}
