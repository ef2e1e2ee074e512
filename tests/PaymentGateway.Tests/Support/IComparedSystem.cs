namespace PaymentGateway.Tests.Support;

/// <summary>A running system as a comparison of every payment asks it.</summary>
public interface IComparedSystem
{
    GatewaySystemDatabase Database { get; }

    SimulatedProcessor DefaultProcessor { get; }

    SimulatedProcessor FallbackProcessor { get; }

    /// <summary>The HTTP clients of the instances that run and can answer.</summary>
    IEnumerable<HttpClient> RunningInstances();

    /// <summary>Every stored payment is in the ledger, and no call is in flight.</summary>
    Task<bool> IsIdleAsync();
}
