using PaymentGateway.Storage;

namespace PaymentGateway.Tests.Support;

/// <summary>Hours that have passed before a test begins, as instances on right clocks count them.</summary>
internal static class PassedHours
{
    /// <summary>Plants as many as a retention needs, after those that are there.</summary>
    public static string Sql(TimeSpan retention) => $"""
        INSERT INTO retention_hours (hour, lowest)
        SELECT (SELECT coalesce(max(hour), 0) FROM retention_hours) + number,
               now() - ({KeptArgs.Of(retention).Hours} - number) * interval '1 hour'
        FROM generate_series(1, {KeptArgs.Of(retention).Hours}) AS number
        """;

    /// <summary>Has payments leave that are as old; what a sweep does once in an hour.</summary>
    public static async Task PassAsync(this TestDatabase database, TimeSpan retention)
    {
        await database.ExecuteAsync(Sql(retention));
        await new RetentionStore(database.Shared).AdvanceAsync(KeptArgs.Of(retention));
    }
}
