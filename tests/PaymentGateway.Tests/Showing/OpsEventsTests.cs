using System.Globalization;
using System.Net;
using System.Text.Json;
using Microsoft.Extensions.Logging;
using Npgsql;
using PaymentGateway.Leasing;
using PaymentGateway.Showing;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Showing;

/// <summary>The events of two gateways on one database: what they cost whom, and what is in them.</summary>
public sealed class OpsEventsTests : IAsyncLifetime
{
    private GatewayRig _rig = null!;
    private GatewayHost _first = null!;
    private GatewayHost _second = null!;

    public async Task InitializeAsync()
    {
        _rig = await GatewayRig.StartAsync(new TestDatabase());
        _first = await _rig.StartGatewayAsync(
            "Instance:Name=one", "Leasing:RenewInterval=100ms", "Logging:LogLevel:PaymentGateway.Showing=Error");
        _second = await _rig.StartGatewayAsync("Instance:Name=two", "Leasing:RenewInterval=100ms");
    }

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [PostgresFact]
    public async Task Both_instances_are_seen_whichever_answers_and_what_they_took_and_settled()
    {
        using var client = UnixHttp.To(_second.Socket);
        await using var events = await EventReader.StartAsync(client);
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
            view.GetProperty("instances").EnumerateArray().Select(one => one.GetProperty("name").GetString()));
        Assert.Equal(
            "39.80", view.GetProperty("processors")[0].GetProperty("settled").GetProperty("amount").GetString());
        Assert.Equal("no", Assert.Single(events.Answer.Headers.GetValues("X-Accel-Buffering")));
        Assert.True(events.Answer.Headers.CacheControl!.NoStore);
    }

    [PostgresFact]
    public async Task Nobody_tells_anything_before_somebody_watches_nor_after_they_have_gone()
    {
        await Task.WhenAll(RenewedAsync(_first), RenewedAsync(_second));
        Assert.Equal(0, await CountAsync("watching"));
        Assert.Equal(0, await CountAsync("instance_readings"));
        Assert.False(_first.Part<Audience>().IsThere);

        using (var client = UnixHttp.To(_first.Socket))
        await using (var events = await EventReader.StartAsync(client))
        {
            await Eventually.HoldsAsync(async () => await CountAsync("instance_readings") == 2, "both tell");
            Assert.True(_second.Part<Audience>().IsThere);
        }

        await Eventually.HoldsAsync(
            () => !_first.Part<Audience>().IsThere && !_second.Part<Audience>().IsThere, "nobody watches any more");
        // Who tells each second never lets so long pass.
        await Eventually.HoldsAsync(
            () => _rig.Database.ScalarAsync<bool>("SELECT now() - max(read_at) > '2.5 s' FROM instance_readings"),
            "nobody tells anything any more");
    }

    [PostgresFact]
    public async Task All_who_watch_one_instance_get_the_same_views_one_a_second()
    {
        using var client = UnixHttp.To(_first.Socket);
        await using var events = await EventReader.StartAsync(client);
        await using var others = await EventReader.StartAsync(client);
        var (mine, theirs) = (new List<string>(), new List<string>());
        for (var number = 0; number < 4; number++)
            mine.Add((await events.NextAsync())!);
        while (theirs.LastOrDefault() != mine[^1])
            theirs.Add((await others.NextAsync())!);

        Assert.Equal(mine.TakeLast(3), theirs.TakeLast(3));
        var times = mine.ConvertAll(view =>
            JsonDocument.Parse(view).RootElement.GetProperty("at").GetDateTime());
        // A busy machine may miss a second or be late in one, and none is shown twice; ReadingTimesTests have the rest.
        Assert.Equal(times.Order(), times);
        Assert.Equal(4, mine.Distinct().Count());
        Assert.Equal(4, times.Select(at => at.ToString("s", CultureInfo.InvariantCulture)).Distinct().Count());
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

        await _rig.StopGatewayAsync(_first).WaitAsync(TimeSpan.FromSeconds(20));

        while (await events.NextAsync() is not null)
        {
            // One or two that were on their way.
        }
    }

    [PostgresFact]
    public async Task While_the_database_refuses_what_it_is_asked_the_views_go_on_and_say_so()
    {
        using var client = UnixHttp.To(_first.Socket);
        await using var events = await EventReader.StartAsync(client);
        await events.UntilAsync(view => view.GetProperty("database").GetBoolean(), "the database answers");
        await _rig.Database.ExecuteAsync("ALTER TABLE instance_readings RENAME TO others");

        var view = await events.UntilAsync(view => !view.GetProperty("database").GetBoolean(), "it does not");

        Assert.Equal("one", view.GetProperty("instances")[0].GetProperty("name").GetString());
        await _rig.Database.ExecuteAsync("ALTER TABLE others RENAME TO instance_readings");
        await events.UntilAsync(view => view.GetProperty("database").GetBoolean(), "it answers again");
    }

    [PostgresFact]
    public async Task While_the_database_hangs_the_views_go_on_and_say_so()
    {
        var database = new OwnServerDatabase();
        await using var rig = await GatewayRig.StartAsync(database);
        var gateway = await rig.StartGatewayAsync("Instance:Name=one");
        using var client = UnixHttp.To(gateway.Socket);
        await using var events = await EventReader.StartAsync(client);
        await events.UntilAsync(view => view.GetProperty("database").GetBoolean(), "the database answers");
        database.Server.Freeze();
        try
        {
            await events.UntilAsync(view => !view.GetProperty("database").GetBoolean(), "it does not");
            var next = JsonDocument.Parse((await events.NextAsync())!).RootElement;
            Assert.False(next.GetProperty("database").GetBoolean());
            Assert.Equal("one", next.GetProperty("instances")[0].GetProperty("name").GetString());
        }
        finally
        {
            database.Server.Thaw();
        }

        await events.UntilAsync(view => view.GetProperty("database").GetBoolean(), "it answers again");
    }

    [PostgresFact]
    public async Task A_view_that_cannot_be_made_is_told_once_and_stops_nothing()
    {
        var lines = new GatheredLines();
        _first.Part<ILoggerFactory>().AddProvider(lines.NewProvider());
        using var client = UnixHttp.To(_first.Socket);
        await using var events = await EventReader.StartAsync(client);
        await events.UntilAsync(view => view.GetProperty("instances").GetArrayLength() == 2, "two instances");

        // Each can be shown; their sum is no number.
        await _rig.Database.ExecuteAsync("""
            INSERT INTO instance_readings (epoch, instance, reading, read_at)
            SELECT 1000 + n, 'huge ' || n, jsonb_set(reading::jsonb, '{acceptedPerSecond}', '1.7e308')::text,
                now() + interval '1 hour'
            FROM instance_readings, generate_series(1, 2) n WHERE instance = 'two'
            """);
        await Eventually.HoldsAsync(() => lines.Lines.Count > 0, "it is told");
        // A view without them can be made, and ends no failure.
        await using (var other = await _rig.Database.Source.OpenConnectionAsync())
        {
            await using var stalling = await other.BeginTransactionAsync();
            await using var locking = new NpgsqlCommand("LOCK TABLE instance_readings", other);
            await locking.ExecuteNonQueryAsync();
            await events.UntilAsync(view => !view.GetProperty("database").GetBoolean(), "one without the database");
        }

        for (var tries = 0; tries < 2; tries++)
        {
            var now = await _rig.Database.ScalarAsync<string>("SELECT quote_literal(now())");
            await Eventually.HoldsAsync(
                async () => await CountAsync($"instance_readings WHERE instance = 'one' AND read_at > {now}") == 1,
                "it goes on");
        }

        await _rig.Database.ExecuteAsync("DELETE FROM instance_readings WHERE epoch > 1000");
        await events.UntilAsync(view => view.GetProperty("instances").GetArrayLength() == 2, "it is shown again");
        Assert.Contains("\"eventId\":700", Assert.Single(lines.Lines), StringComparison.Ordinal);
    }

    private static async Task RenewedAsync(GatewayHost gateway)
    {
        for (var renewals = 0; renewals < 3; renewals++)
            await gateway.Part<Lease>().NextCheckAsync(CancellationToken.None);
    }

    private Task<long> CountAsync(string table) => _rig.Database.ScalarAsync<long>($"SELECT count(*) FROM {table}");
}
