using PaymentGateway.Operator.Dashboard;

namespace PaymentGateway.Tests.Operator.Dashboard;

public sealed class OpsEventsTests : OwnRig
{
    private GatewayHost _first = null!;
    private GatewayHost _second = null!;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _first = await Rig.StartGatewayAsync(
            "Instance:Name=one", "Leasing:RenewInterval=100ms",
            "Logging:LogLevel:PaymentGateway.Operator.Dashboard=Error");
        _second = await Rig.StartGatewayAsync("Instance:Name=two", "Leasing:RenewInterval=100ms");
    }

    [PostgresFact]
    public async Task Both_instances_are_seen_whichever_answers_and_what_they_took_and_settled()
    {
        await using var events = await _second.WatchAsync();
        await events.UntilAsync(view => view.GetProperty("instances").GetArrayLength() == 2, "two instances");
        await _first.PayAsync();
        await _second.PayAsync();

        var view = await events.UntilAsync(
            view => view.GetProperty("database").GetBoolean()
                && view.GetProperty("processors")[0].GetProperty("settled").GetProperty("payments").GetInt64() == 2
                && view.GetProperty("accepts").GetProperty("p99").ValueKind == JsonValueKind.Number,
            "two payments settled at default");

        Assert.Equal("two", view.GetProperty("answeredBy").GetString());
        Assert.Equal(
            ["one", "two"],
            view.GetProperty("instances").EnumerateArray()
                .Select(one => one.GetProperty("reading").GetProperty("name").GetString()));
        Assert.Equal(
            "39.80", view.GetProperty("processors")[0].GetProperty("settled").GetProperty("amount").GetString());
        Assert.Equal("no", Assert.Single(events.Answer.Headers.GetValues("X-Accel-Buffering")));
        Assert.True(events.Answer.Headers.CacheControl!.NoStore);
    }

    [PostgresFact]
    public async Task PostgreSQL_is_asked_only_while_somebody_watches()
    {
        await using (await LockTotalsAsync())
        {
            await SecondsPassAsync();
            Assert.Equal(0, await WaitingAsync());

            await using (await _first.WatchAsync())
                await Eventually.HoldsAsync(async () => await WaitingAsync() == 1, "the watched instance asks");
        }

        // The client reads for up to two seconds more before it closes its connection.
        await Eventually.HoldsAsync(
            async () =>
            {
                await using var held = await LockTotalsAsync();
                await SecondsPassAsync();
                return await WaitingAsync() == 0;
            },
            "nobody asks any more");

        Task<long> WaitingAsync() => Rig.Database.ScalarAsync<long>("""
            SELECT count(*) FROM pg_locks WHERE relation = 'settlement_totals'::regclass AND NOT granted
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """);
    }

    [PostgresFact]
    public async Task All_who_watch_one_instance_get_the_same_views_one_a_second()
    {
        await using var events = await _first.WatchAsync();
        await using var others = await _first.WatchAsync();
        var (mine, theirs) = (new List<string>(), new List<string>());
        for (var number = 0; number < 4; number++)
            mine.Add((await events.NextAsync())!);
        while (theirs.LastOrDefault() != mine[^1])
            theirs.Add((await others.NextAsync())!);

        Assert.Equal(mine.TakeLast(3), theirs.TakeLast(3));
        var times = mine.ConvertAll(view =>
            JsonDocument.Parse(view).RootElement.GetProperty("at").GetDateTime());
        // A busy machine may be late, the first time too, and none is shown twice.
        Assert.Equal(times.Order(), times);
        Assert.Equal(4, mine.Distinct().Count());
        Assert.True(times[^1] - times[0] > TimeSpan.FromSeconds(2), $"four views within {times[^1] - times[0]}");
    }

    [PostgresFact]
    public async Task So_many_may_watch_and_one_more_is_refused_until_another_has_gone()
    {
        using var client = UnixHttp.To(_first.Socket);
        var watching = new List<EventReader>();
        for (var number = 0; number < OpsEvents.WatchersMax; number++)
            watching.Add(await EventReader.StartAsync(client));

        using var refused = await client.GetAsync("ops/events");
        Assert.Equal(HttpStatusCode.ServiceUnavailable, refused.StatusCode);
        Assert.NotNull(refused.Headers.RetryAfter);

        await watching[0].DisposeAsync();
        await Eventually.HoldsAsync(
            async () =>
            {
                using var answer = await client.GetAsync("ops/events", HttpCompletionOption.ResponseHeadersRead);
                return answer.IsSuccessStatusCode;
            },
            "there is room again");
        foreach (var one in watching)
            await one.DisposeAsync();
    }

    [PostgresFact]
    public async Task A_stop_ends_the_events_and_does_not_wait_for_who_watches()
    {
        using var client = UnixHttp.To(_first.Socket);
        await using var events = await EventReader.StartAsync(client);
        Assert.NotNull(await events.NextAsync());

        await Rig.StopGatewayAsync(_first).WaitAsync(TimeSpan.FromSeconds(20));

        while (await events.NextAsync() is not null)
        {
            // One or two that were on their way.
        }
    }

    [PostgresTheory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Views_go_on_and_say_so_while_the_database_hangs_or_refuses(bool hangs)
    {
        await using var events = await _first.WatchAsync();
        await events.UntilAsync(view => view.GetProperty("database").GetBoolean(), "the database answers");
        await using var hanging = hangs ? await LockTotalsAsync() : null;
        if (!hangs)
            await Rig.Database.ExecuteAsync("ALTER TABLE settlement_totals RENAME TO others");

        await events.UntilAsync(view => !view.GetProperty("database").GetBoolean(), "it does not");

        var next = JsonDocument.Parse((await events.NextAsync())!).RootElement;
        Assert.False(next.GetProperty("database").GetBoolean());
        Assert.Equal("one", next.GetProperty("instances")[0].GetProperty("reading").GetProperty("name").GetString());
        if (hanging is not null)
            await hanging.CloseAsync();
        else
            await Rig.Database.ExecuteAsync("ALTER TABLE others RENAME TO settlement_totals");
        await events.UntilAsync(view => view.GetProperty("database").GetBoolean(), "it answers again");
    }

    [PostgresFact]
    public async Task A_view_that_cannot_be_made_is_told_once_and_stops_nothing()
    {
        var lines = new GatheredLines();
        _first.Part<ILoggerFactory>().AddProvider(lines.NewProvider());
        await using var events = await _first.WatchAsync();
        await events.UntilAsync(view => view.GetProperty("instances").GetArrayLength() == 2, "two instances");

        // Each can be shown; their sum is no number.
        await Rig.Database.ExecuteAsync("""
            WITH huge AS (
                INSERT INTO leases (instance, processors, used_processors, expires_at)
                SELECT 'huge ' || n, '', 2, now() + interval '1 hour' FROM generate_series(1, 2) n
                RETURNING epoch
            )
            INSERT INTO instance_readings (epoch, read_at, reading)
            SELECT huge.epoch, now() + interval '1 hour',
                jsonb_set(reading::jsonb, '{acceptedPerSecond}', '1.7e308')::text
            FROM huge, instance_readings WHERE reading LIKE '{"name":"two"%'
            """);
        await Eventually.HoldsAsync(() => lines.Lines.Count > 0, "it is told");
        // A view without them can be made, and ends no failure.
        await using (await LockTotalsAsync())
            await events.UntilAsync(view => !view.GetProperty("database").GetBoolean(), "one without the database");

        await SecondsPassAsync();
        await Rig.Database.ExecuteAsync("DELETE FROM leases WHERE instance LIKE 'huge %'");
        await events.UntilAsync(view => view.GetProperty("instances").GetArrayLength() == 2, "it is shown again");
        Assert.Contains("\"eventId\":700", Assert.Single(lines.Lines), StringComparison.Ordinal);
    }

    [PostgresFact]
    public async Task A_watcher_who_does_not_read_misses_views_and_keeps_nobody_waiting()
    {
        var (views, slow, quick) = (_first.Part<OverviewStream>(), new BlockedBody(), new MemoryStream());
        using var end = new CancellationTokenSource();
        var sending = new[] { (Stream)slow, quick }
            .Select(body => OpsEvents.SendAsync(body, views.NextAsync, end.Token)).ToArray();
        await slow.Blocked.WaitAsync(TimeSpan.FromSeconds(20));

        for (var number = 0; number < 3; number++)
            Assert.NotNull(await views.NextAsync().WaitAsync(TimeSpan.FromSeconds(20)));
        var newest = await views.NextAsync();
        slow.Unblock();
        await Eventually.HoldsAsync(() => slow.Sent.Count == 3, "the slow one goes on");
        await end.CancelAsync();

        foreach (var one in sending)
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => one);
        Assert.True(EventsIn(Encoding.UTF8.GetString(quick.ToArray())) >= 3);
        Assert.True(AtOf(slow.Sent.Last()) >= AtOf(newest!));

        static int EventsIn(string text) => text.Split("data: ").Length - 1;
        static DateTime AtOf(byte[] view) => JsonDocument.Parse(
            Encoding.UTF8.GetString(view).Replace("data: ", "", StringComparison.Ordinal))
            .RootElement.GetProperty("at").GetDateTime();
    }

    /// <summary>Until disposed, whoever reads the totals waits.</summary>
    private Task<NpgsqlConnection> LockTotalsAsync() => Rig.Database.HoldAsync("LOCK TABLE settlement_totals");

    // As many as two views take; the instances go on meanwhile.
    private async Task SecondsPassAsync()
    {
        var begun = await Rig.Database.ScalarAsync<string>("SELECT quote_literal(now())");
        await Eventually.HoldsAsync(
            () => Rig.Database.ScalarAsync<bool>(
                $"SELECT min(read_at) > timestamptz {begun} + interval '2.5 s' FROM instance_readings "
                + "WHERE epoch IN (SELECT epoch FROM leases WHERE closed_at IS NULL)"),
            "both have written readings for 2.5 s");
    }

    /// <summary>The body of an answer whose first view is not taken until it is unblocked.</summary>
    private sealed class BlockedBody : MemoryStream
    {
        private readonly TaskCompletionSource _blocked = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly TaskCompletionSource _free = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task Blocked => _blocked.Task;

        public ConcurrentQueue<byte[]> Sent { get; } = new();

        public void Unblock() => _free.SetResult();

        public override async ValueTask WriteAsync(
            ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            if (!Sent.IsEmpty)
            {
                _blocked.TrySetResult();
                await _free.Task.WaitAsync(cancellationToken);
            }

            Sent.Enqueue(buffer.ToArray());
        }
    }
}
