using System.Data.Common;
using Npgsql;

namespace PaymentGateway.Recording;

/// <summary>The shared health record: one instance polls a processor for all of them.</summary>
internal sealed class HealthStore(NpgsqlDataSource ledger)
{
    private const string ClaimSql = """
        UPDATE processor_health SET polled_at = now()
        WHERE polled_at < now() - @Interval RETURNING processor
        """;

    private const string PublishSql = """
        UPDATE processor_health SET failing = @Failing, min_response_ms = @MinResponseMs, observed_at = now()
        WHERE processor = @Processor
        """;

    private const string ReadSql = """
        SELECT processor, failing, min_response_ms,
               CASE WHEN observed_at = '-infinity' THEN 1e9 ELSE extract(epoch FROM now() - observed_at) END::float8
                 AS age_seconds
        FROM processor_health
        """;

    /// <summary>The processors whose poll is due; they are this instance's to poll now, and nobody else's.</summary>
    public async Task<List<ClaimRow>> ClaimAsync(TimeSpan interval)
    {
        await using var connection = ledger.CreateConnection();
        return (await connection.QueryAsync<ClaimRow>(ClaimSql, new ClaimArgs(interval))).AsList();
    }

    /// <summary>Writes down what a processor said.</summary>
    public async Task PublishAsync(HealthArgs said)
    {
        await using var connection = ledger.CreateConnection();
        await connection.ExecuteAsync(PublishSql, said);
    }

    /// <summary>What the processors said last, with its age by the database's clock.</summary>
    public async Task<List<HealthRow>> ReadAsync()
    {
        await using var connection = ledger.CreateConnection();
        return (await connection.QueryAsync<HealthRow>(ReadSql)).AsList();
    }
}

/// <summary>A poll that is due.</summary>
internal sealed record ClaimRow(short Processor) : ISqlRow<ClaimRow>
{
    public static ClaimRow Read(DbDataReader row) => new(row.GetInt16(0));
}

/// <summary>What a processor said; AgeSeconds ago.</summary>
internal sealed record HealthRow(short Processor, bool Failing, int MinResponseMs, double AgeSeconds)
    : ISqlRow<HealthRow>
{
    public static HealthRow Read(DbDataReader row) =>
        new(row.GetInt16(0), row.GetBoolean(1), row.GetInt32(2), row.GetDouble(3));
}

/// <summary>The time between two polls.</summary>
internal sealed record ClaimArgs(TimeSpan Interval) : ISqlArgs
{
    public void AddTo(SqlParameters parameters) =>
        parameters.Add(nameof(Interval), Interval);
}

/// <summary>A processor's word.</summary>
internal sealed record HealthArgs(short Processor, bool Failing, int MinResponseMs) : ISqlArgs
{
    public void AddTo(SqlParameters parameters)
    {
        parameters.Add(nameof(Processor), Processor);
        parameters.Add(nameof(Failing), Failing);
        parameters.Add(nameof(MinResponseMs), MinResponseMs);
    }
}
