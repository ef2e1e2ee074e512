using Dapper;

namespace PaymentGateway.Storage;

/// <summary>
/// What each instance says of itself while somebody watches any of them, for the page that shows all. Nothing decides
/// by it.
/// </summary>
internal sealed class ReadingStore(SharedConnections connections)
{
    private const string TellSql = """
        INSERT INTO instance_readings (epoch, instance, reading, read_at)
        VALUES (@Epoch, @Instance, @Reading, now())
        ON CONFLICT (epoch) DO UPDATE SET reading = excluded.reading, read_at = excluded.read_at
        """;

    // Said again when half of it is over: other instances read it with their renewals.
    private const string WatchSql = """
        INSERT INTO watching (id, watched_until) VALUES (1, now() + @For)
        ON CONFLICT (id) DO UPDATE SET watched_until = excluded.watched_until
        WHERE watching.watched_until < excluded.watched_until - @For / 2
        """;

    // Two instances may have one name; the identity is what leases go by.
    private const string ReadSql = """
        SELECT epoch, instance, reading, extract(epoch FROM now() - read_at)::float8 AS age_seconds,
               coalesce((SELECT leases.instance FROM leases WHERE leases.epoch = instance_readings.epoch), instance)
                 AS identity
        FROM instance_readings
        """;

    // Two that sweep at once take the rows in one order, and leave those that the other has.
    private const string SweepSql = """
        DELETE FROM instance_readings WHERE epoch IN (
            SELECT epoch FROM instance_readings WHERE read_at < now() - @Kept ORDER BY epoch FOR UPDATE SKIP LOCKED)
        """;

    /// <summary>Says how an instance is doing.</summary>
    public Task TellAsync(ReadingArgs told) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            TellSql, told, commandTimeout: connection.CommandTimeout));

    /// <summary>Has every instance tell how it is doing, for so long.</summary>
    public Task WatchAsync(TimeSpan duration) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            WatchSql, new WatchArgs(duration), commandTimeout: connection.CommandTimeout));

    /// <summary>What the instances said last, also those that have ended since.</summary>
    public Task<List<ReadingRow>> ReadAsync() =>
        connections.RunAsync(
            async connection => (await connection.QueryAsync<ReadingRow>(
                ReadSql, commandTimeout: connection.CommandTimeout)).AsList());

    /// <summary>Forgets what was said longer ago.</summary>
    public Task SweepAsync(TimeSpan kept) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            SweepSql, new SweepArgs(kept), commandTimeout: connection.CommandTimeout));
}

/// <summary>What an instance says; Reading is JSON.</summary>
internal sealed record ReadingArgs(int Epoch, string Instance, string Reading);

/// <summary>What an instance said so many seconds ago, by the database's clock.</summary>
/// <param name="Instance">Its name, for people.</param>
/// <param name="Identity">As its lease has it: no two instances that are up have the same.</param>
internal sealed record ReadingRow(int Epoch, string Instance, string Reading, double AgeSeconds, string Identity);

/// <summary>How long somebody watches.</summary>
internal sealed record WatchArgs(TimeSpan For);

/// <summary>How long a reading is kept.</summary>
internal sealed record SweepArgs(TimeSpan Kept);
