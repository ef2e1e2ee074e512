namespace PaymentGateway.Tests.Support;

/// <summary>Tests of what is stored: each has a database of its own.</summary>
public abstract class OwnDatabase(TestDatabase? database = null) : IAsyncLifetime
{
    private protected TestDatabase Database { get; } = database ?? new();

    public virtual Task InitializeAsync() => Database.InitializeAsync();

    public virtual Task DisposeAsync() => Database.DisposeAsync();
}

/// <summary>Tests of parts of one instance, on a clock that the test advances.</summary>
/// <param name="settings">As in <c>("Gateway:Settling:Linger", "0s")</c>.</param>
public abstract class OneInstance(params (string Key, string? Value)[] settings) : OwnDatabase
{
    private protected WatchedClock Clock { get; } = new();

    private protected Stages Stages { get; private set; } = null!;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        Stages = Stages.Build(Database.ConnectionString, Clock, urls: null, settings);
    }

    public override async Task DisposeAsync()
    {
        await Stages.DisposeAsync();
        await base.DisposeAsync();
    }
}

/// <summary>Tests that start gateways: each has a database and both processors anew.</summary>
public abstract class OwnRig : IAsyncLifetime
{
    private protected GatewayRig Rig { get; private set; } = null!;

    public virtual async Task InitializeAsync() => Rig = await GatewayRig.StartAsync(NewDatabase());

    public virtual async Task DisposeAsync() => await Rig.DisposeAsync();

    private protected virtual TestDatabase NewDatabase() => new();
}

/// <summary>Tests of one gateway: each has it anew, in this process, with a database and both processors.</summary>
/// <param name="settings">The gateway's, as in <c>Routing:FallbackAfter=3s</c>.</param>
public abstract class OneGateway(params string[] settings) : OwnRig
{
    private protected GatewayHost Gateway { get; private set; } = null!;

    private protected virtual TimeProvider Clock => TimeProvider.System;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        Gateway = await Rig.StartGatewayAsync(Clock, settings);
    }
}

/// <summary>Tests of one processor: each has it anew, on a clock that the test advances.</summary>
public abstract class OneSimulator(decimal feePerTransaction = 0.05m) : IAsyncLifetime
{
    private protected SimulatedProcessor Simulator { get; private set; } = null!;

    private protected WatchedClock Clock { get; } = new();

    private protected virtual TimeProvider SimulatorClock => Clock;

    public virtual async Task InitializeAsync() =>
        Simulator = await SimulatedProcessor.StartAsync(SimulatorClock, feePerTransaction);

    public virtual async Task DisposeAsync() => await Simulator.DisposeAsync();
}

/// <summary>Tests of the lanes to one processor, whose clock is the system's: no slow answer is late.</summary>
public abstract class OneLane : OneSimulator
{
    private protected static readonly TimeSpan CallTimeout = TimeSpan.FromSeconds(10);

    private protected Stages Lanes { get; private set; } = null!;

    private protected override TimeProvider SimulatorClock => TimeProvider.System;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        Lanes = NewLanes(Simulator.BaseAddress);
    }

    public override async Task DisposeAsync()
    {
        await Lanes.DisposeAsync();
        await base.DisposeAsync();
    }

    private protected Stages NewLanes(Uri defaultUrl, string connectTimeout = "60s") => Stages.BuildLanes(
        defaultUrl, Simulator.BaseAddress, Clock, ("Gateway:Settling:CallTimeout", $"{CallTimeout.TotalSeconds}s"),
        ("Gateway:Settling:ConnectTimeout", connectTimeout));
}
