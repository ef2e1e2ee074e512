namespace PaymentGateway.Storage;

/// <summary>The shared health record: one instance polls a processor for all of them.</summary>
internal sealed class HealthStore(SharedConnections connections)
{
    // A poll from the future is of a clock that has jumped back since. One within the interval may be of a transaction
    // that began later than this one, and was quicker.
    private const string ClaimSql = """
        UPDATE processor_health SET polled_at = now()
        WHERE polled_at NOT BETWEEN now() - @Interval AND now() + @Interval RETURNING processor
        """;

    private const string PublishSql = """
        UPDATE processor_health SET failing = @Failing, min_response_ms = @MinResponseMs, observed_at = now()
        WHERE processor = @Processor
        """;

    private const string ReadSql = """
        SELECT processor, failing, min_response_ms,
               CASE WHEN observed_at = '-infinity' OR observed_at > now() + interval '1 second' THEN 1e9
                    ELSE extract(epoch FROM now() - observed_at) END::float8 AS age_seconds
        FROM processor_health
        """;

    /// <summary>The processors whose poll is due; they are this instance's to poll now, and nobody else's.</summary>
    public Task<List<short>> ClaimAsync(TimeSpan interval) =>
        connections.ListAsync(connection => connection.QueryAsync<short>(
            ClaimSql, new { Interval = interval }, commandTimeout: connection.CommandTimeout));

    /// <summary>Stores a processor's health report.</summary>
    public Task PublishAsync(HealthArgs report) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            PublishSql, report, commandTimeout: connection.CommandTimeout));

    /// <summary>The processors' latest health reports, with their age by the database's clock.</summary>
    public Task<List<HealthRow>> ReadAsync() =>
        connections.ListAsync(connection => connection.QueryAsync<HealthRow>(
            ReadSql, commandTimeout: connection.CommandTimeout));
}

/// <summary>A processor's health report, made AgeSeconds ago.</summary>
internal sealed record HealthRow(short Processor, bool Failing, int MinResponseMs, double AgeSeconds);

/// <summary>A processor's health report.</summary>
internal sealed record HealthArgs(int Processor, bool Failing, int MinResponseMs);
