namespace PaymentGateway.Tests.Operator.Reconciliation;

/// <summary>Asks a gateway for a reconciliation, and reads its report.</summary>
internal static class ReconciliationRuns
{
    public const string Path = "admin/reconciliations";

    // The program's ConfirmAfter.
    private static readonly TimeSpan BetweenLooks = TimeSpan.FromSeconds(2);

    /// <summary>Reconciliation is on, and asks as fast as it is answered.</summary>
    public static readonly string[] Settings =
    [
        $"Processors:Default:AdminToken={SimulatedProcessor.InitialToken}",
        $"Processors:Fallback:AdminToken={SimulatedProcessor.InitialToken}", "Reconciling:MaxRate=100000",
        "Settling:CallTimeout=2s", "Settling:InDoubtHorizon=2s",
        // A payment that is put back is old, so fallback would get it at once when a busy machine makes default slow.
        "Routing:MaxLatency=60s",
    ];

    /// <summary>Runs one; between its two looks something happens, however long that takes.</summary>
    public static async Task<T> MeanwhileAsync<T>(this HeldClock clock, Func<Task<T>> run, Func<Task> meanwhile)
    {
        clock.Hold(BetweenLooks);
        var running = run();
        await clock.HoldsAsync();
        await meanwhile();
        clock.LetGo();
        return await running;
    }

    public static async Task<JsonElement> ReconcileAsync(
        this GatewayHost gateway, bool repair = false, string window = "")
    {
        using var answer = await gateway.PostAsync($"{Path}?repair={(repair ? "true" : "false")}{window}");
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        return JsonSerializer.Deserialize<JsonElement>(await answer.Content.ReadAsStringAsync()).GetProperty("report");
    }

    public static List<JsonElement> Differences(this JsonElement report) =>
        report.GetProperty("differences").EnumerateArray().ToList();

    public static Dictionary<Guid, string> Kinds(this JsonElement report) => report.Differences()
        .Where(one => one.Text("correlationId") is not null)
        .ToDictionary(one => one.GetProperty("correlationId").GetGuid(), one => one.Text("kind")!);
}

/// <summary>Tests of one gateway with differences planted on all sides, on a clock whose waits they can hold.</summary>
public abstract class PlantedGateway() : OneGateway(ReconciliationRuns.Settings)
{
    private protected static readonly DateTime Start = DateTime.UtcNow.Date.AddDays(-2);

    private protected HeldClock Held { get; } = new();

    private protected override TimeProvider Clock => Held;

    /// <summary>Plants payments that agree, and then some that do not.</summary>
    private protected async Task<PlantedLedgers> PlantAsync(
        int agreeing, Action<PlantedLedgers>? differing = null, double apartMs = 37.001)
    {
        var planted = new PlantedLedgers(Start, TimeSpan.FromMilliseconds(apartMs));
        planted.Agreeing(agreeing);
        differing?.Invoke(planted);
        await planted.WriteAsync(Rig);
        return planted;
    }

    private protected static void AssertLeft(JsonElement report, string kind, string why)
    {
        var left = Assert.Single(report.Differences(), one => one.Text("kind") == kind);
        Assert.Equal("left", left.Text("repair"));
        Assert.Contains(why, left.Text("why"), StringComparison.Ordinal);
    }
}

/// <summary>
/// The system's clock, on which waits of one length end when a test says so: what it does meanwhile may take any time.
/// </summary>
internal sealed class HeldClock : TimeProvider
{
    private readonly List<ITimer> _held = [];
    private TimeSpan? _length;

    /// <summary>From now on no wait of this length ends.</summary>
    public void Hold(TimeSpan length)
    {
        lock (_held)
            _length = length;
    }

    public Task HoldsAsync() => Eventually.HoldsAsync(
        () =>
        {
            lock (_held)
                return _held.Count > 0;
        },
        $"something waits for {_length}");

    /// <summary>All such waits end now, and later ones in their time.</summary>
    public void LetGo()
    {
        lock (_held)
        {
            _length = null;
            foreach (var timer in _held)
                timer.Change(TimeSpan.Zero, Timeout.InfiniteTimeSpan);
            _held.Clear();
        }
    }

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        lock (_held)
        {
            if (dueTime != _length)
                return base.CreateTimer(callback, state, dueTime, period);

            var timer = base.CreateTimer(callback, state, Timeout.InfiniteTimeSpan, period);
            _held.Add(timer);
            return timer;
        }
    }
}
