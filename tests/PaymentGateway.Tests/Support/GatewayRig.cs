namespace PaymentGateway.Tests.Support;

/// <summary>A database, both processors, and gateways on them: what a test of a state machine needs.</summary>
internal sealed class GatewayRig : IAsyncDisposable
{
    private readonly List<GatewayHost> _gateways = [];

    private GatewayRig(TestDatabase database) => Database = database;

    public TestDatabase Database { get; }

    public SimulatedProcessor Default { get; private set; } = null!;

    public SimulatedProcessor Fallback { get; private set; } = null!;

    public static async Task<GatewayRig> StartAsync(TestDatabase database)
    {
        var rig = new GatewayRig(database);
        await database.InitializeAsync();
        rig.Default = await SimulatedProcessor.StartAsync();
        rig.Fallback = await SimulatedProcessor.StartAsync(feePerTransaction: 0.15m);
        return rig;
    }

    /// <summary>Starts a gateway; settings as in <c>Routing:FallbackAfter=3s</c>.</summary>
    public Task<GatewayHost> StartGatewayAsync(params string[] settings) =>
        StartGatewayAsync(TimeProvider.System, settings);

    public async Task<GatewayHost> StartGatewayAsync(TimeProvider clock, params string[] settings)
    {
        var gateway = await GatewayHost.StartAsync(Database, Default, Fallback, clock, settings);
        _gateways.Add(gateway);
        await Eventually.HoldsAsync(() => gateway.Part<Lease>().IsTrusted, "a lease of the instance that starts");
        return gateway;
    }

    /// <summary>Stops a gateway as SIGTERM does; what it could not end is handed over.</summary>
    public async Task StopGatewayAsync(GatewayHost gateway)
    {
        _gateways.Remove(gateway);
        await gateway.DisposeAsync();
    }

    public Task LedgersReachAsync(long byDefault, long byFallback = 0) => Eventually.HoldsAsync(
        async () =>
        {
            var summary = await Database.SummariseAsync(null, null);
            return (summary.Default.TotalRequests, summary.Fallback.TotalRequests) == (byDefault, byFallback);
        },
        $"{byDefault} settled by default and {byFallback} by fallback");

    public async Task<(long Default, long Fallback)> PostsAsync() =>
        ((await Default.CallsAsync()).Posts, (await Fallback.CallsAsync()).Posts);

    public async Task<long> CountSettledAsync() =>
        await Database.ScalarAsync<long>("SELECT count(*) FROM settlements");

    public async Task<long> CountStoredAsync() =>
        await Database.ScalarAsync<long>("SELECT count(*) FROM payments");

    /// <summary>Parks payments that <c>default</c> rejected: no other processor may have them.</summary>
    public Task ParkAsync(int payments, string reason) => Database.ExecuteAsync($"""
        INSERT INTO payments
            (correlation_id, amount_cents, accepted_at, owner_epoch, may_be_at, parked_at, parked_reason)
        SELECT gen_random_uuid(), 1990, clock_timestamp(), -1, {Known.AtDefault.Bits}, now(), '{reason}'
        FROM generate_series(1, {payments})
        """);

    /// <summary>
    /// Payments that are known at both processors, three and one, from an hour ago: without one, no 404 proves
    /// anything.
    /// </summary>
    public Task SettleSomeAsync()
    {
        var planted = new PlantedLedgers(DateTime.UtcNow.AddHours(-1), TimeSpan.FromSeconds(1));
        planted.Agreeing(4);
        return planted.WriteAsync(this);
    }

    /// <summary>Every settlement is at its processor with its amount and time, and nothing else is there.</summary>
    public async Task AssertLedgersAgreeAsync()
    {
        await using var connection = await Statements.OpenAsync(Database.ConnectionString);
        var settled = await connection.ReadAsync(
            "SELECT correlation_id, processor, amount_cents, requested_at FROM settlements",
            row => (Id: row.GetGuid(0), Processor: row.GetInt16(1), Cents: row.GetInt64(2), At: row.GetDateTime(3)));
        foreach (var (processor, number) in new[] { (Default, 1), (Fallback, 2) })
        {
            var stored = (await processor.PaymentsAsync()).Values.Select(payment => (
                Id: payment.CorrelationId, (short)number, (long)(payment.Amount * 100),
                payment.RequestedAt.UtcDateTime));
            Assert.Equal(
                settled.Where(one => one.Processor == number).OrderBy(one => one.Id), stored.OrderBy(one => one.Id));
        }
    }

    public async ValueTask DisposeAsync()
    {
        await Default.ClearFaultsAsync();
        await Fallback.ClearFaultsAsync();
        foreach (var gateway in _gateways)
            await gateway.DisposeAsync();
        await Default.DisposeAsync();
        await Fallback.DisposeAsync();
        await Database.DisposeAsync();
    }
}
