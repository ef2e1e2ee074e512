namespace PaymentGateway.Tests.EndToEnd;

/// <summary>One system for all tests that need no settings of their own; each begins with a reset of it.</summary>
public class RunningSystem : IAsyncLifetime
{
    public GatewaySystem System { get; private set; } = null!;

    protected virtual (string Name, string Value)[] Settings => [];

    public async Task InitializeAsync()
    {
        if (GatewaySystemParts.SkipReason is null)
            System = await GatewaySystem.UpAsync(Settings);
    }

    public async Task DisposeAsync()
    {
        if (System is not null)
            await System.DisposeAsync();
    }
}

/// <summary>Tests on a system that others use too: each begins with a reset of it, and a ledger of its own.</summary>
public abstract class OnRunningSystem(RunningSystem running) : IAsyncLifetime
{
    protected GatewaySystem System => running.System;

    protected LoadLedger Ledger { get; } = new();

    public virtual Task InitializeAsync() => System.ResetAsync();

    public virtual Task DisposeAsync() => Task.CompletedTask;
}
