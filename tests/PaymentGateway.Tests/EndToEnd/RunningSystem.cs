using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>One system for all tests that need no settings of their own; each begins with a reset of it.</summary>
public sealed class RunningSystem : IAsyncLifetime
{
    public GatewaySystem System { get; private set; } = null!;

    public async Task InitializeAsync()
    {
        if (GatewaySystemParts.SkipReason is null)
            System = await GatewaySystem.UpAsync();
    }

    public async Task DisposeAsync()
    {
        if (System is not null)
            await System.DisposeAsync();
    }
}
