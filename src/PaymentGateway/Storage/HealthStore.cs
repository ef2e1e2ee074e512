namespace PaymentGateway.Storage;

/// <summary>The shared health record: one instance polls a processor for all of them.</summary>
internal sealed class HealthStore(SharedConnections shared)
{
    // A poll more than an interval ahead is from before the clock jumped back. A poll less far ahead may be of a
    // quicker transaction that began later.
    private const string ClaimSql = """
        UPDATE processor_health SET polled_at = now()
        WHERE polled_at NOT BETWEEN now() - @Interval AND now() + @Interval AND processor = ANY(@Names)
        RETURNING processor
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

    /// <summary>Claims the processors whose poll is due, so that no other instance polls them.</summary>
    public Task<List<string>> ClaimAsync(string[] names, TimeSpan interval) =>
        shared.ListAsync(db => db.QueryAsync<string>(ClaimSql, new { Names = names, Interval = interval }));

    public Task PublishAsync(HealthArgs report) => shared.RunAsync(db => db.ExecuteAsync(PublishSql, report));

    public Task<List<HealthRow>> ReadAsync() => shared.ListAsync(db => db.QueryAsync<HealthRow>(ReadSql));
}

/// <summary>A processor's health report, made AgeSeconds ago by the database's clock.</summary>
internal sealed record HealthRow(string Processor, bool Failing, int MinResponseMs, double AgeSeconds);

internal sealed record HealthArgs(string Processor, bool Failing, int MinResponseMs);
