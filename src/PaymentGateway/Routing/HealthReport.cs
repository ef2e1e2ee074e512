namespace PaymentGateway.Routing;

/// <summary>A processor's own word on its health, shared between the instances.</summary>
/// <param name="Age">How long ago it was said.</param>
internal readonly record struct HealthReport(bool Failing, TimeSpan MinResponse, TimeSpan Age);
