namespace PaymentGateway.Tests.Chaos;

/// <summary>A killed instance: what it had taken just before, and what it left without a settlement.</summary>
public sealed record ChaosKill(string Part, long Taken, long Left);

/// <summary>Kills instances, and asks the database, not logs, what these carried.</summary>
public sealed class ChaosKills(ChaosDatabase database)
{
    private static readonly TimeSpan OfLate = TimeSpan.FromSeconds(1);

    private readonly List<ChaosKill> _all = [];

    public IReadOnlyList<ChaosKill> All => _all;

    /// <summary>The instance that has taken most payments of late; the first while nobody can say.</summary>
    public async Task<string> FindLoadedAsync() =>
        (await EpochsAsync()).MaxBy(epoch => epoch.Taken) is { } busiest && busiest.IsOf(GatewaySystem.Second)
            ? GatewaySystem.Second
            : GatewaySystem.First;

    /// <summary>Without an answer of the database nobody knows what it carried.</summary>
    public async Task KillAsync(string part, Func<Task> killAsync)
    {
        var dead = (await EpochsAsync()).LastOrDefault(epoch => epoch.IsOf(part));
        await killAsync();
        var left = dead is null
            ? null
            : await ChaosDatabase.TryAsync<long?>(async () => await database.CountUnsettledOfAsync(dead.Epoch));
        _all.Add(left is null ? new ChaosKill(part, 0, 0) : new ChaosKill(part, dead!.Taken, left.Value));
    }

    private async Task<List<ChaosEpoch>> EpochsAsync() =>
        await ChaosDatabase.TryAsync(() => database.EpochsAsync(DateTime.UtcNow - OfLate)) ?? [];
}
