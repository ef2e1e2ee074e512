namespace PaymentGateway.Tests.Chaos;

/// <summary>What a fault of a connection did: bytes lost, pieces delayed, connections or statements cut off.</summary>
public sealed record ChaosWireFault(ChaosKind Kind, string Target, long Hits);

/// <summary>Breaks the connections between the parts, one at a time.</summary>
public sealed class ChaosWires(GatewaySystem system, ChaosDatabase database)
{
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(5);

    private readonly List<ChaosWireFault> _faults = [];

    public IReadOnlyList<ChaosWireFault> Faults => _faults;

    public static bool IsOfDatabase(ChaosKind kind) => kind is ChaosKind.TerminatedBackend or ChaosKind.DatabaseCut
        or ChaosKind.DatabaseMute or ChaosKind.DatabaseHalfOpen or ChaosKind.DatabaseSlow;

    public async Task DoAsync(ChaosStep step, Func<TimeSpan, Task> passAsync)
    {
        if (step.Kind == ChaosKind.TerminatedBackend)
        {
            _faults.Add(new ChaosWireFault(step.Kind, step.Target, await TerminateAsync(step.Hold)));
            return;
        }

        var relays = RelaysOf(step);
        var before = relays.Sum(relay => Hits(relay));
        foreach (var relay in relays)
            relay.Set(FaultOf(step));
        try
        {
            await passAsync(step.Hold);
        }
        finally
        {
            _faults.Add(new ChaosWireFault(step.Kind, step.Target, relays.Sum(relay => Hits(relay)) - before));
            foreach (var relay in relays)
                relay.Heal();
        }
    }

    // A statement takes a millisecond or two, so most polls find none.
    private async Task<long> TerminateAsync(TimeSpan hold)
    {
        var (cutOff, until) = (0L, DateTime.UtcNow + hold);
        while (DateTime.UtcNow < until)
        {
            cutOff += await ChaosDatabase.TryAsync(database.TerminateActiveAsync);
            await Task.Delay(PollInterval);
        }

        return cutOff;
    }

    private Relay[] RelaysOf(ChaosStep step) => step.Target switch
    {
        GatewaySystem.First or GatewaySystem.Second => [system.Relays.DatabaseOf(step.Target)],
        ChaosStep.Default => [system.Relays.Default],
        _ => [system.Relays.Fallback],
    };

    private static RelayFault FaultOf(ChaosStep step) => step.Kind switch
    {
        ChaosKind.DatabaseCut or ChaosKind.ProcessorCut => new RelayFault(Cut: true),
        ChaosKind.DatabaseMute or ChaosKind.ProcessorMute => new RelayFault(DropsAnswers: true),
        ChaosKind.ProcessorDeaf => new RelayFault(DropsRequests: true),
        ChaosKind.DatabaseHalfOpen => new RelayFault(DropsRequests: true, DropsAnswers: true),
        ChaosKind.DatabaseSlow => new RelayFault(Delay: TimeSpan.FromMilliseconds(step.Amount!.Value)),
        _ => throw new InvalidOperationException($"{step.Kind} is no fault of a connection"),
    };

    private static long Hits(Relay relay) => relay.Dropped + relay.Resets + relay.Delayed;
}
