namespace PaymentGateway.Configuring;

/// <summary>A setting is wrong or missing; the message is one line and names it as the environment does.</summary>
internal sealed class ConfigurationException(string setting, string reason) : Exception($"{setting}: {reason}")
{
}
