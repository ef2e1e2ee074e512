namespace PaymentGateway.Storage;

/// <summary>What each instance says of itself for the page /ops. No decision reads it.</summary>
internal sealed class ReadingStore(SharedConnections shared)
{
    private const string WriteSql = """
        INSERT INTO instance_readings (epoch, reading, read_at) VALUES (@Epoch, @Reading, now())
        ON CONFLICT (epoch) DO UPDATE SET reading = excluded.reading, read_at = excluded.read_at
        """;

    // The page /ops shows an instance that has ended as silent for a while.
    private const string ReadSql = """
        SELECT epoch, instance, reading, extract(epoch FROM now() - read_at)::float8 AS age_seconds
        FROM leases JOIN instance_readings USING (epoch)
        WHERE closed_at IS NULL OR read_at > now() - interval '30 seconds'
        """;

    public Task WriteAsync(ReadingArgs reading) => shared.RunAsync(db => db.ExecuteAsync(WriteSql, reading));

    public Task<List<ReadingRow>> ReadAsync() => shared.ListAsync(db => db.QueryAsync<ReadingRow>(ReadSql));
}

/// <summary>Reading is JSON.</summary>
internal sealed record ReadingArgs(int Epoch, string Reading);

/// <summary>An instance's reading, as JSON; Instance differs between any two running instances.</summary>
internal sealed record ReadingRow(int Epoch, string Instance, string Reading, double AgeSeconds);
