namespace PaymentGateway.Storage;

/// <summary>
/// The endpoints of webhooks: how far each is delivered, and which instance delivers. All times are PostgreSQL's. Safe
/// from any thread, and at any number of instances at once.
/// </summary>
internal sealed class WebhookStore(SharedConnections shared)
{
    private const string AddSql = "INSERT INTO webhooks (name) VALUES (@Name) ON CONFLICT DO NOTHING";

    // A time that is further ahead than any holder or failure sets it is from before the clock jumped back. The @For
    // more is for a transaction that began later.
    private const string TakeSql = """
        UPDATE webhooks SET holder = @Holder, due_at = now() + @For
        WHERE name = @Name AND (due_at <= now() OR due_at > now() + @For
            + CASE WHEN failures = 0 THEN @For ELSE @PauseMax END)
        RETURNING position, failures
        """;

    // Another instance, or a replay, may have taken it meanwhile.
    private const string IsHeld = "WHERE name = @Name AND holder = @Holder";

    private const string KeepSql = $"""
        UPDATE webhooks SET position = @Position, due_at = now() + @For, failures = 0, failing_since = NULL,
                            failure = NULL
        {IsHeld}
        """;

    private const string FailSql = $"""
        UPDATE webhooks SET position = @Position, due_at = now() + @For, failures = @Failures, failure = @Failure,
                            failing_since = CASE WHEN @Failures = 1 THEN now() ELSE coalesce(failing_since, now()) END
        {IsHeld}
        """;

    private const string ReleaseSql = $"UPDATE webhooks SET due_at = now() {IsHeld} AND failures = 0";

    private const string ReplaySql =
        "UPDATE webhooks SET position = @Position, holder = '', due_at = now() WHERE name = @Name";

    private const string ListSql = """
        SELECT name, position, failures, failing_since, failure,
               CASE WHEN failures > 0 THEN due_at END AS next_try_at,
               extract(epoch FROM now() - failing_since)::float8 AS failing_seconds
        FROM webhooks ORDER BY name
        """;

    public Task AddAsync(string name) => RunAsync(db => db.ExecuteAsync(AddSql, new { Name = name }));

    /// <summary>The longest time from a failure to the next try.</summary>
    public static readonly TimeSpan PauseMax = TimeSpan.FromHours(1);

    /// <summary>Takes an endpoint for a time; null when another instance has it, or it waits after a failure.</summary>
    public Task<TakenWebhookRow?> TakeAsync(WebhookArgs webhook) =>
        shared.RunAsync(db => db.QuerySingleOrDefaultAsync<TakenWebhookRow>(
            TakeSql, new { webhook.Name, webhook.Holder, webhook.For, PauseMax }));

    /// <summary>Stores the position up to which all is delivered, and keeps the endpoint for a time.</summary>
    /// <returns>False when another instance has it now.</returns>
    public Task<bool> KeepAsync(WebhookArgs webhook) => RunAsync(db => db.ExecuteAsync(KeepSql, webhook));

    /// <summary>Stores the position before the failed event, and delays the next try.</summary>
    public Task FailAsync(WebhookArgs webhook) => RunAsync(db => db.ExecuteAsync(FailSql, webhook));

    public Task ReleaseAsync(WebhookArgs webhook) => RunAsync(db => db.ExecuteAsync(ReleaseSql, webhook));

    /// <summary>Moves the position; false when there is no such endpoint.</summary>
    public Task<bool> ReplayAsync(string name, string position) =>
        RunAsync(db => db.ExecuteAsync(ReplaySql, new { Name = name, Position = position }));

    public Task<List<WebhookRow>> ListAsync() => shared.ListAsync(db => db.QueryAsync<WebhookRow>(ListSql));

    private async Task<bool> RunAsync(Func<NpgsqlConnection, Task<int>> statement) =>
        await shared.RunAsync(statement) == 1;
}

/// <param name="Holder">Differs between any two calls of TakeAsync.</param>
internal sealed record WebhookArgs(
    string Name, string Holder, TimeSpan For = default, string? Position = null, int Failures = 0,
    string? Failure = null);

internal sealed record TakenWebhookRow(string? Position, int Failures);

/// <summary>An endpoint; FailingSince (UTC) is null where the last delivery succeeded.</summary>
internal sealed record WebhookRow(
    string Name, string? Position, int Failures, DateTime? FailingSince, string? Failure,
    DateTime? NextTryAt, double? FailingSeconds);
