namespace PaymentGateway.Tests.Chaos;

/// <summary>An instance that was killed, what it carried then, and how soon others began with what it left.</summary>
/// <param name="Renewals">How often the busiest survivor renewed its lease until the first adoption.</param>
public sealed record ChaosKill(
    string Part, DateTime At, long Taken, long Left, DateTime? AdoptedAt = null, DateTime? SeenUntil = null,
    int Renewals = 0)
{
    public TimeSpan? Took => AdoptedAt - At;
}

/// <summary>Watches in the database, not in logs, what becomes of the payments of killed instances.</summary>
public sealed class ChaosAdoptions(ChaosDatabase database)
{
    /// <summary>The gateway renews each second; what comes sooner is a renewal for another reason.</summary>
    public static readonly TimeSpan OneRenewal = TimeSpan.FromSeconds(0.8);

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan OfLate = TimeSpan.FromSeconds(1);

    private readonly List<Task<ChaosKill>> _watching = [];

    /// <summary>All kills; known when <see cref="EndAsync"/> has ended.</summary>
    public IReadOnlyList<ChaosKill> Kills { get; private set; } = [];

    /// <summary>The instance that has taken most payments of late; the first while nobody can say.</summary>
    public async Task<string> FindLoadedAsync() =>
        (await EpochsAsync()).MaxBy(epoch => epoch.Taken) is { } busiest && busiest.IsOf(GatewaySystem.Second)
            ? GatewaySystem.Second
            : GatewaySystem.First;

    /// <summary>Notes what an instance carries, kills it, and goes on watching what it left.</summary>
    public async Task KillAsync(string part, Func<Task> killAsync)
    {
        var epochs = await EpochsAsync();
        var at = DateTime.UtcNow;
        await killAsync();
        // Without an answer of the database nobody knows what it carried.
        var dead = epochs.LastOrDefault(epoch => epoch.IsOf(part));
        var left = dead is null ? null : await CountUnsettledOfAsync(dead.Epoch);
        var kill = left is null ? new ChaosKill(part, at, 0, 0) : new ChaosKill(part, at, dead!.Taken, left.Value);
        _watching.Add(kill.Left > 0 ? WatchAsync(kill, dead!.Epoch) : Task.FromResult(kill));
    }

    public async Task EndAsync() => Kills = await Task.WhenAll(_watching);

    private async Task<ChaosKill> WatchAsync(ChaosKill kill, int epoch)
    {
        var counted = new Dictionary<int, (DateTime At, int Renewals)>();
        while (true)
        {
            await Task.Delay(PollInterval);
            if (await ChaosDatabase.TryAsync(database.RenewalsAsync) is not { } renewals
                || await CountUnsettledOfAsync(epoch) is not { } left)
                continue;

            foreach (var (survivor, at) in renewals.Where(one => one.Key != epoch))
                if (!counted.TryGetValue(survivor, out var last))
                    counted[survivor] = (at, 0);
                else if (at - last.At >= OneRenewal)
                    counted[survivor] = (at, last.Renewals + 1);
            var most = counted.Values.Select(one => one.Renewals).DefaultIfEmpty().Max();
            if (left >= kill.Left && most <= ChaosVerdict.AdoptionRenewalsMax)
                continue;

            var now = DateTime.UtcNow;
            return kill with { AdoptedAt = left < kill.Left ? now : null, SeenUntil = now, Renewals = most };
        }
    }

    private async Task<List<ChaosEpoch>> EpochsAsync() =>
        await ChaosDatabase.TryAsync(() => database.EpochsAsync(DateTime.UtcNow - OfLate)) ?? [];

    private Task<long?> CountUnsettledOfAsync(int epoch) =>
        ChaosDatabase.TryAsync<long?>(async () => await database.CountUnsettledOfAsync(epoch));
}
