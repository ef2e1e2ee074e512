namespace PaymentGateway.Tests.Chaos;

/// <summary>Hits of a fault: bytes lost, pieces delayed, connections or statements cut off.</summary>
public sealed record ChaosWireFault(ChaosKind Kind, string Target, long Hits);

public sealed class ChaosWires(GatewaySystem system, ChaosDatabase database)
{
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(5);
    private static readonly TimeSpan LongestSearch = TimeSpan.FromSeconds(10);

    private readonly List<ChaosWireFault> _faults = [];

    public IReadOnlyList<ChaosWireFault> Faults => _faults;

    public async Task DoAsync(ChaosStep step, Func<TimeSpan, Task> passAsync)
    {
        if (step.Kind == ChaosKind.TerminatedBackend)
        {
            _faults.Add(new ChaosWireFault(step.Kind, step.Target, await TerminateAsync(step.Hold)));
            return;
        }

        var relay = RelayOf(step);
        var before = Hits(relay);
        relay.Set(FaultOf(step));
        try
        {
            await passAsync(step.Hold);
            // And on until it hit something, because its instance may be dead or paused by another step.
            var until = DateTime.UtcNow + LongestSearch;
            while (Hits(relay) == before && DateTime.UtcNow < until)
                await Task.Delay(PollInterval);
        }
        finally
        {
            _faults.Add(new ChaosWireFault(step.Kind, step.Target, Hits(relay) - before));
            relay.Heal();
        }
    }

    // A statement takes a millisecond or two, so most polls find none.
    private async Task<long> TerminateAsync(TimeSpan hold)
    {
        var (cutOff, until) = (0L, DateTime.UtcNow + hold);
        // And on until one was hit, because statements are short.
        while (DateTime.UtcNow < until || (cutOff == 0 && DateTime.UtcNow < until + LongestSearch))
        {
            cutOff += await ChaosDatabase.TryAsync(database.TerminateActiveAsync);
            await Task.Delay(PollInterval);
        }

        return cutOff;
    }

    private Relay RelayOf(ChaosStep step) => step.Target switch
    {
        GatewaySystem.First => system.Relays.Database1,
        GatewaySystem.Second => system.Relays.Database2,
        _ => system.Relays.Processors[step.Target],
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
