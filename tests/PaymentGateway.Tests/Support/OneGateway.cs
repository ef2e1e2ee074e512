namespace PaymentGateway.Tests.Support;

/// <summary>Tests of one gateway: each has it anew, in this process, with a database and both processors.</summary>
/// <param name="settings">The gateway's, as in <c>Routing:FallbackAfter=3s</c>.</param>
public abstract class OneGateway(params string[] settings) : IAsyncLifetime
{
    private protected GatewayRig Rig { get; private set; } = null!;

    private protected GatewayHost Gateway { get; private set; } = null!;

    private protected virtual TimeProvider Clock => TimeProvider.System;

    public async Task InitializeAsync()
    {
        Rig = await GatewayRig.StartAsync(new TestDatabase());
        Gateway = await Rig.StartGatewayAsync(Clock, settings);
    }

    public async Task DisposeAsync() => await Rig.DisposeAsync();
}
