namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A reader of the feed ends with exactly the payments of the ledger, whatever breaks its calls.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class EventFeedTests(ITestOutputHelper output)
{
    private const int Rate = 150;

    private static readonly TimeSpan Duration = TimeSpan.FromSeconds(20);

    [GatewaySystemFact]
    public async Task A_reader_restarted_at_random_during_a_load_has_each_payment_of_the_ledger_once()
    {
        await using var system = await GatewaySystem.UpAsync();
        var ledger = new LoadLedger();
        var read = new Dictionary<string, Guid>();
        var again = new HashSet<string>();
        var load = LoadDriver.RunAtRateAsync(system.Client, ledger, Rate, Duration);
        // Outages and slow answers: some outcomes are recorded long after their requestedAt.
        var faults = FailAsync(system);
        var (restarts, end) = (0, new CancellationTokenSource());
        var reading = ReadAsync(system, read, again, why => output.WriteLine($"{++restarts}: {why}"), end.Token);
        await Task.WhenAll(load, faults);

        await LedgerCheck.AgreesAsync(system, ledger);
        var settled = (await system.Database.SettlementsAsync()).Keys.Order().ToList();
        await Eventually.HoldsAsync(
            () => reading.IsCompleted || Count(read) >= settled.Count, "every event is read");
        await Task.Delay(TimeSpan.FromSeconds(1));
        await end.CancelAsync();
        await reading;

        output.WriteLine($"{settled.Count} payments, {restarts} restarts, {again.Count} events read again");
        Assert.Equal(settled, read.Values.Order());
        Assert.InRange(restarts, 3, int.MaxValue);
        Assert.NotEmpty(again);
        end.Dispose();
    }

    private static int Count(Dictionary<string, Guid> read)
    {
        lock (read)
            return read.Count;
    }

    private static async Task FailAsync(GatewaySystem system)
    {
        await Task.Delay(Duration / 4);
        await system.Default.SetFailureAsync(true);
        await Task.Delay(Duration / 4);
        await system.Default.SetFailureAsync(false);
        await system.Default.SetDelayAsync(TimeSpan.FromSeconds(3));
        await Task.Delay(Duration / 4);
        await system.Default.SetDelayAsync(TimeSpan.Zero);
        await system.KillAsync(GatewaySystem.First);
        await system.StartAsync(GatewaySystem.First);
    }

    // A restarted reader has the cursor that it stored last, and may have lost the page of its last call, or have
    // stored the events of that page alone; these, and no others, it reads again.
    private static async Task ReadAsync(
        GatewaySystem system, Dictionary<string, Guid> read, HashSet<string> again, Action<string> restarted,
        CancellationToken end)
    {
        var random = new Random(45);
        var (stored, unstored, pages) = ("", new HashSet<string>(), 0);
        while (!end.IsCancellationRequested)
        {
            var instance = random.Next(2) == 0 ? GatewaySystem.First : GatewaySystem.Second;
            using var http = UnixHttp.To(system.SocketOf(instance));
            using var life = CancellationTokenSource.CreateLinkedTokenSource(end);
            life.CancelAfter(random.Next(100, 2_000));
            try
            {
                while (true)
                {
                    var (events, next) = await PageAsync(http, stored, random.Next(1, 201), life.Token);
                    lock (read)
                        foreach (var (id, payment) in events.Where(one => !read.TryAdd(one.Id, one.Payment)))
                        {
                            Assert.Contains(id, unstored);
                            again.Add(id);
                        }

                    if (events.Count > 0 && ++pages % 10 == 0)
                    {
                        unstored.UnionWith(events.Select(one => one.Id));
                        throw new OperationCanceledException("killed before it stores its cursor");
                    }

                    // A shorter page than that of the killed reader leaves some of its events to come again.
                    unstored.ExceptWith(events.Select(one => one.Id));
                    stored = next;
                }
            }
            catch (Exception broken) when (broken is HttpRequestException or OperationCanceledException)
            {
                restarted($"{DateTime.UtcNow:HH:mm:ss} after {stored} at {instance}: {broken.Message}");
            }
        }
    }

    private static async Task<(List<(string Id, Guid Payment)> Events, string Next)> PageAsync(
        HttpClient http, string stored, int limit, CancellationToken life)
    {
        var after = stored.Length == 0 ? "" : $"&after={stored}";
        using var page = JsonDocument.Parse(
            await http.GetStringAsync($"events?wait=5&limit={limit}{after}", life));
        var events = page.RootElement.GetProperty("events").EnumerateArray().ToList();
        Assert.All(events, one => Assert.Equal("payment.settled", one.Text("type")));
        return (events.ConvertAll(one => (one.Text("id")!, one.Id())), page.RootElement.Text("next")!);
    }
}
