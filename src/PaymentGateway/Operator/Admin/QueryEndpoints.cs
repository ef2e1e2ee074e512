using PaymentGateway.Accepting;

namespace PaymentGateway.Operator.Admin;

/// <summary>GET /payments/{id} for a token or everyone, and GET /payments for an operator.</summary>
internal static class QueryEndpoints
{
    public const string OnePath = PaymentEndpoints.Path + "/{id}";

    public static void MapLookUp(this IEndpointRouteBuilder routes) =>
        routes.MapGetAndHead(OnePath, routes.ServiceProvider.GetRequiredService<PaymentSearch>().ShowAsync);

    /// <summary>Maps the list of all payments: for operators and their page.</summary>
    public static void MapPaymentList(this IEndpointRouteBuilder admin) =>
        admin.MapGet(PaymentEndpoints.Path, admin.ServiceProvider.GetRequiredService<PaymentSearch>().ListAsync);
}
