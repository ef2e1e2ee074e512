namespace PaymentGateway.Storage;

/// <summary>
/// Deletes old settled payments from the tables of single payments; their totals stay
/// (docs/decisions/0029-retention.md). Safe from any thread, and at any number of instances at once.
/// </summary>
internal sealed class RetentionStore(SharedConnections shared)
{
    // kept_from and the rows change together, so every snapshot that lacks a row also has the later kept_from.
    private const string RemoveSql = "SELECT remove_old_payments(@Now, @Retention, @Limit) AS removed";

    /// <summary>Deletes the oldest of the payments that are older than the retention by both clocks.</summary>
    /// <param name="now">The instance's clock, UTC; the other clock is PostgreSQL's.</param>
    /// <param name="retention">Counted from requestedAt; up to an hour more, as whole hours are deleted.</param>
    /// <returns>How many were deleted; 0 when none is due, or while another transaction holds a row.</returns>
    /// <exception cref="DbException">The outcome is unknown. SerializationFailure: a payment was put back.</exception>
    public async Task<int> RemoveAsync(DateTime now, TimeSpan retention, int limit)
    {
        try
        {
            return await shared.RunAsync(async db => (int)await db.QuerySingleAsync<long>(
                RemoveSql, new { Now = now, Retention = retention, Limit = limit }));
        }
        catch (PostgresException busy) when (busy.SqlState
            is PostgresErrorCodes.LockNotAvailable or PostgresErrorCodes.DeadlockDetected)
        {
            return 0;
        }
    }
}
