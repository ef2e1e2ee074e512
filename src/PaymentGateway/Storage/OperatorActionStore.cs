namespace PaymentGateway.Storage;

/// <summary>What operators did. Rows are only added; the table itself refuses everything else.</summary>
internal sealed class OperatorActionStore(SharedConnections connections)
{
    private const string AddSql = """
        INSERT INTO operator_actions (instance, actor, action, target, outcome, address)
        VALUES (@Instance, @Actor, @Action, @Target, @Outcome, @Address)
        """;

    private const string PageSql = """
        SELECT id, acted_at AS at, instance, actor, action, target, outcome, address FROM operator_actions
        WHERE id < @Before ORDER BY id DESC LIMIT @Limit
        """;

    /// <summary>Adds an action, at the database's time.</summary>
    public Task AddAsync(OperatorAction action) =>
        connections.RunAsync(connection => connection.ExecuteAsync(
            AddSql, action, commandTimeout: connection.CommandTimeout));

    /// <summary>A page of them, the newest first.</summary>
    public Task<List<OperatorActionRow>> PageAsync(long before, int limit) =>
        connections.ListAsync(connection => connection.QueryAsync<OperatorActionRow>(
            PageSql, new { Before = before, Limit = limit }, commandTimeout: connection.CommandTimeout));
}

/// <summary>An action to add.</summary>
internal sealed record OperatorAction(
    string Instance, string Actor, string Action, string Target, string Outcome, string Address);

/// <summary>An action that was stored, as GET /admin/actions shows it; At is UTC.</summary>
internal sealed record OperatorActionRow(
    [property: JsonIgnore] long Id, DateTime At, string Instance, string Actor, string Action, string Target,
    string Outcome, string Address);
