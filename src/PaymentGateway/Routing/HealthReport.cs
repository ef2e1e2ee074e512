namespace PaymentGateway.Routing;

/// <summary>A processor's report of its own health, shared between the instances.</summary>
/// <param name="Age">How long ago it was made.</param>
internal readonly record struct HealthReport(bool Failing, TimeSpan MinResponse, TimeSpan Age);
