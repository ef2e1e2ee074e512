namespace PaymentGateway.Storage;

/// <summary>The actions of operators. Rows are only added; the table itself refuses everything else.</summary>
internal sealed class OperatorActionStore(SharedConnections shared)
{
    private const string AddSql = """
        INSERT INTO operator_actions (instance, actor, action, target, outcome, address)
        VALUES (@Instance, @Actor, @Action, @Target, @Outcome, @Address)
        """;

    private const string PageSql = """
        SELECT id, acted_at AS at, instance, actor, action, target, outcome, address FROM operator_actions
        WHERE id < @Before ORDER BY id DESC LIMIT @Limit
        """;

    public Task AddAsync(OperatorAction action) => shared.RunAsync(db => db.ExecuteAsync(AddSql, action));

    /// <summary>A page of actions, the newest first.</summary>
    public Task<List<OperatorActionRow>> PageAsync(long before, int limit) =>
        shared.ListAsync(db => db.QueryAsync<OperatorActionRow>(PageSql, new { Before = before, Limit = limit }));
}

internal sealed record OperatorAction(
    string Instance, string Actor, string Action, string Target, string Outcome, string Address);

/// <summary>An action that was stored, as GET /admin/actions shows it; At is UTC.</summary>
internal sealed record OperatorActionRow(
    [property: JsonIgnore] long Id, DateTime At, string Instance, string Actor, string Action, string Target,
    string Outcome, string Address);
