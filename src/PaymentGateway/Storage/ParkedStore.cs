using static PaymentGateway.Storage.PaymentStates;

namespace PaymentGateway.Storage;

/// <summary>Payments set aside for an operator: owned by nobody who settles, never dropped.</summary>
internal sealed class ParkedStore(SharedConnections connections)
{
    private const string ParkSql = $"""
        UPDATE payments SET owner_epoch = {Sql.Parked}, parked_reason = @Reason, parked_at = now(),
                            attempts = @Attempts
        WHERE correlation_id = @Id AND accepted_at = @AcceptedAt AND owner_epoch = @OwnerEpoch
        """;

    // Bounded, so that a second of it costs the same however many wait.
    private const string CountSql = $"""
        SELECT reason, count(*) AS payments FROM (
            SELECT parked_reason AS reason FROM payments
            WHERE owner_epoch = {Sql.Parked} ORDER BY accepted_at LIMIT @Limit) AS oldest
        GROUP BY reason
        """;

    /// <summary>
    /// Gives payments to any adopter. They are in doubt, whatever they were parked for: the adopter looks them up at
    /// both processors before it charges.
    /// </summary>
    public const string PutBack = $"""
        UPDATE payments SET owner_epoch = {Sql.Nobody}, handover = {Sql.InDoubt}, parked_reason = NULL,
                            parked_at = NULL, attempts = NULL
        """;

    private const string ReplaySql = $"{PutBack} WHERE correlation_id = @Id AND owner_epoch = {Sql.Parked}";

    // Two that replay the same page lock it in the same order; the second finds nothing parked in it.
    private const string ReplayPageSql = $"""
        WITH page AS (
            SELECT correlation_id FROM payments
            WHERE owner_epoch = {Sql.Parked} AND (accepted_at, correlation_id) > (@AcceptedAt, @Id)
              AND (@Reason::text IS NULL OR parked_reason = @Reason)
            ORDER BY accepted_at, correlation_id LIMIT @Limit FOR UPDATE)
        {PutBack} WHERE correlation_id IN (SELECT correlation_id FROM page) AND owner_epoch = {Sql.Parked}
        RETURNING accepted_at, correlation_id AS id
        """;

    /// <summary>Parks a payment; does nothing when it is no longer this owner's.</summary>
    public Task ParkAsync(ParkArgs parking) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            ParkSql, parking, commandTimeout: connection.CommandTimeout));

    /// <summary>How many are parked for each reason, of the oldest <paramref name="limit"/>.</summary>
    public Task<List<ParkedCountRow>> CountAsync(int limit) =>
        connections.ListAsync(connection => connection.QueryAsync<ParkedCountRow>(
            CountSql, new { Limit = limit }, commandTimeout: connection.CommandTimeout));

    /// <summary>Gives a parked payment back to be settled by anyone.</summary>
    /// <returns>False when no such payment is parked.</returns>
    public async Task<bool> ReplayAsync(Guid id) =>
        await connections.RunAsync(connection => connection.ExecuteAsync(
            ReplaySql, new { Id = id }, commandTimeout: connection.CommandTimeout)) == 1;

    /// <summary>Gives a page of what is parked back.</summary>
    /// <returns>The cursor of each, in no order.</returns>
    public Task<List<PaymentCursor>> ReplayPageAsync(PaymentCursor after, string? reason, int limit) =>
        connections.ListAsync(connection => connection.QueryAsync<PaymentCursor>(
            ReplayPageSql, new { after.AcceptedAt, after.Id, Reason = reason, Limit = limit },
            commandTimeout: connection.CommandTimeout));
}

/// <summary>A payment to park, and why.</summary>
internal sealed record ParkArgs(Guid Id, DateTime AcceptedAt, int OwnerEpoch, string Reason, short? Attempts = null);

/// <summary>How many are parked for a reason.</summary>
internal sealed record ParkedCountRow(string Reason, long Payments);
