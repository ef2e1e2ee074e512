namespace PaymentGateway.Tests.Support;

/// <summary>An instance of version 1 by its statements, on connections that keep them prepared.</summary>
public sealed class VersionOneInstance : IAsyncDisposable
{
    private const int Batch = 3;

    private const string OpenSql = """
        INSERT INTO leases (instance, expires_at, used_fallback)
        VALUES ('version-1', now() + interval '10 minutes', false) RETURNING epoch
        """;

    private const string RenewalSql = """
        UPDATE leases SET expires_at = now() + interval '10 minutes', low_water_mark = @now - interval '1 minute',
                          refused_until = greatest(refused_until, '1970-01-01 00:00:00+00'), renewal = renewal + 1,
                          used_fallback = used_fallback OR false
        WHERE epoch = @epoch AND closed_at IS NULL
        """;

    private const string StoreSql = """
        INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
        SELECT accepted.correlation_id, 1990, @now, @epoch FROM unnest(@ids) AS accepted (correlation_id)
        WHERE (SELECT set_config('lock_timeout', '300ms', true)) IS NOT NULL
          AND (SELECT refused_until FROM leases WHERE epoch = @epoch AND closed_at IS NULL) < @now
        ON CONFLICT (correlation_id) DO NOTHING
        """;

    private const string UnsettledSql = """
        SELECT count(*) FROM (
            SELECT correlation_id, amount_cents, accepted_at, owner_epoch, handover FROM payments
            WHERE owner_epoch = @epoch AND handover = 0 AND accepted_at >= @now AND accepted_at <= @now
              AND (SELECT true FROM settlements WHERE settlements.accepted_at = payments.accepted_at
                     AND settlements.correlation_id = payments.correlation_id) IS NULL
            ORDER BY accepted_at LIMIT 500) AS page
        """;

    private const string RecordSql = """
        WITH locked_first AS (SELECT FROM payments), recorded AS (
            INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at)
            SELECT outcome.correlation_id, @now, 1, 1990, @now FROM unnest(@ids) AS outcome (correlation_id)
            WHERE @now = (SELECT accepted_at FROM payments WHERE payments.correlation_id = outcome.correlation_id)
            ON CONFLICT (accepted_at, correlation_id) DO NOTHING
            RETURNING processor, requested_at, amount_cents
        ), added AS (
            INSERT INTO settlement_totals AS totals
              (width_seconds, bucket, processor, epoch, requests, amount_cents)
            SELECT width_seconds, date_bin(width, requested_at, 'epoch'), processor, @epoch, count(*),
                   sum(amount_cents)
            FROM recorded,
                (VALUES (5, interval '5 seconds'), (3600, interval '1 hour')) AS widths (width_seconds, width)
            GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
            ON CONFLICT (width_seconds, bucket, processor, epoch) DO UPDATE
            SET requests = totals.requests + excluded.requests,
                amount_cents = totals.amount_cents + excluded.amount_cents
        )
        SELECT count(*) FROM recorded
        """;

    private const string ParkedSql = """
        SELECT count(*) FROM (
            SELECT correlation_id, amount_cents, accepted_at, parked_reason AS reason FROM payments
            WHERE owner_epoch = -1 ORDER BY accepted_at, correlation_id LIMIT 1000) AS page
        """;

    private const string SumSql = """
        SELECT sum(requests)::bigint FROM settlement_totals
        WHERE width_seconds = 3600 AND bucket >= date_bin('1 hour', @now, 'epoch')
        """;

    private readonly NpgsqlDataSource _source;
    private readonly int _epoch;
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _running;
    private long _rounds;

    private VersionOneInstance(NpgsqlDataSource source, int epoch)
    {
        (_source, _epoch) = (source, epoch);
        _running = Task.WhenAll(Enumerable.Range(0, 2).Select(_ => Task.Run(RunAsync)));
    }

    public long Settled => Interlocked.Read(ref _rounds) * Batch;

    public static async Task<VersionOneInstance> StartAsync(string connectionString)
    {
        var source = NpgsqlDataSource.Create(new NpgsqlConnectionStringBuilder(connectionString)
        {
            Multiplexing = false,
            MaxAutoPrepare = 32,
            AutoPrepareMinUsages = 2,
        });
        await using var open = source.CreateCommand(OpenSql);
        return new VersionOneInstance(source, (int)(await open.ExecuteScalarAsync())!);
    }

    /// <summary>Waits until it has settled more than now; fails with the first of its statements that failed.</summary>
    public async Task GoesOnAsync()
    {
        var more = Settled + (20 * Batch);
        await Eventually.HoldsAsync(() => _running.IsFaulted || Settled >= more, "version 1 goes on settling");
        if (_running.IsFaulted)
            await _running;
    }

    /// <summary>Lets it end; fails with the first of its statements that failed.</summary>
    public async Task StopAsync()
    {
        await _stop.CancelAsync();
        await _running;
        await using var settled = _source.CreateCommand(
            $"SELECT count(*) FROM payments JOIN settlements USING (accepted_at, correlation_id) "
            + $"WHERE owner_epoch = {_epoch}");
        Assert.Equal(Settled, (long)(await settled.ExecuteScalarAsync())!);
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await Task.WhenAny(_running);
        await _source.DisposeAsync();
        _stop.Dispose();
    }

    private async Task RunAsync()
    {
        await using var connection = await _source.OpenConnectionAsync();
        while (!_stop.IsCancellationRequested)
        {
            var ids = Enumerable.Range(0, Batch).Select(_ => Guid.NewGuid()).OrderBy(id => $"{id}").ToArray();
            // A time for this round alone, in whole microseconds.
            var now = DateTime.UnixEpoch.AddMicroseconds(
                (DateTime.UtcNow - DateTime.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond);
            Assert.Equal(Batch, await RunAsync(connection, StoreSql, now, ids));
            Assert.InRange(await RunAsync(connection, UnsettledSql, now, ids), Batch, 2 * Batch);
            Assert.Equal(Batch, await RunAsync(connection, RecordSql, now, ids));
            Assert.Equal(1, await RunAsync(connection, RenewalSql, now, ids));
            await RunAsync(connection, ParkedSql, now, ids);
            Assert.True(await RunAsync(connection, SumSql, now, ids) >= Batch);
            Interlocked.Increment(ref _rounds);
        }
    }

    // The number that a query gives, or of the rows that a statement has changed.
    private async Task<long> RunAsync(NpgsqlConnection connection, string sql, DateTime now, Guid[] ids)
    {
        await using var command = new NpgsqlCommand(sql, connection);
        if (sql.Contains("@epoch"))
            command.Parameters.AddWithValue("epoch", _epoch);
        if (sql.Contains("@now"))
            command.Parameters.AddWithValue("now", now);
        if (sql.Contains("@ids"))
            command.Parameters.AddWithValue("ids", ids);
        return sql is StoreSql or RenewalSql
            ? await command.ExecuteNonQueryAsync()
            : (long)(await command.ExecuteScalarAsync())!;
    }
}
