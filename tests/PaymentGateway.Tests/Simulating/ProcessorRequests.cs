namespace PaymentGateway.Tests.Simulating;

/// <summary>Sends what a gateway would send to a processor, with the JSON written out.</summary>
internal static class ProcessorRequests
{
    public const string SomeTime = "2025-07-15T12:34:56.123456Z";

    public static StringContent Json(string json) => new(json, Encoding.UTF8, "application/json");

    public static StringContent Payment(Guid id, decimal amount = 19.90m, string requestedAt = SomeTime) =>
        Json(string.Create(
            CultureInfo.InvariantCulture,
            $$"""{"correlationId":"{{id}}","amount":{{amount}},"requestedAt":"{{requestedAt}}"}"""));

    public static Task<HttpResponseMessage> ChargeAsync(
        this HttpClient client, Guid id, decimal amount = 19.90m, string requestedAt = SomeTime,
        CancellationToken cancellation = default) =>
        client.PostAsync("payments", Payment(id, amount, requestedAt), cancellation);

    public static Task<HttpResponseMessage> LookUpAsync(
        this HttpClient client, Guid id, CancellationToken cancellation = default) =>
        client.GetAsync($"payments/{id}", cancellation);

    public static Task<HttpResponseMessage> CheckHealthAsync(
        this HttpClient client, CancellationToken cancellation = default) =>
        client.GetAsync("payments/service-health", cancellation);
}
