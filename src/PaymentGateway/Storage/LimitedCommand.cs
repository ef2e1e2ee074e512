using System.Data;
using System.Diagnostics.CodeAnalysis;

namespace PaymentGateway.Storage;

/// <summary>Makes the commands of all calls of Dapper, because each generated factory derives from it.</summary>
internal class LimitedCommands<TArgs> : CommandFactory<TArgs>
{
    public override DbCommand GetCommand(DbConnection connection, string sql, CommandType commandType, TArgs args) =>
        new LimitedCommand(base.GetCommand(connection, sql, commandType, args));
}

/// <summary>
/// A command with the time limit of its connection. Dapper.AOT sets 0, no limit at all, where a call names none, and
/// every call would have to name it.
/// </summary>
internal sealed class LimitedCommand(DbCommand command) : DbCommand
{
    [AllowNull]
    public override string CommandText { get => command.CommandText; set => command.CommandText = value; }

    public override int CommandTimeout
    {
        get => command.CommandTimeout;
        set
        {
            if (value != 0)
                command.CommandTimeout = value;
        }
    }

    public override CommandType CommandType { get => command.CommandType; set => command.CommandType = value; }

    public override bool DesignTimeVisible { get; set; }

    public override UpdateRowSource UpdatedRowSource { get; set; }

    protected override DbConnection? DbConnection { get => command.Connection; set => command.Connection = value; }

    protected override DbTransaction? DbTransaction { get => command.Transaction; set => command.Transaction = value; }

    protected override DbParameterCollection DbParameterCollection => command.Parameters;

    public override void Cancel() => command.Cancel();

    public override void Prepare() => command.Prepare();

    public override int ExecuteNonQuery() => command.ExecuteNonQuery();

    public override object? ExecuteScalar() => command.ExecuteScalar();

    public override Task<int> ExecuteNonQueryAsync(CancellationToken cancellationToken) =>
        command.ExecuteNonQueryAsync(cancellationToken);

    protected override DbParameter CreateDbParameter() => command.CreateParameter();

    protected override DbDataReader ExecuteDbDataReader(CommandBehavior behavior) => command.ExecuteReader(behavior);

    protected override Task<DbDataReader> ExecuteDbDataReaderAsync(
        CommandBehavior behavior, CancellationToken cancellationToken) =>
        command.ExecuteReaderAsync(behavior, cancellationToken);

    protected override void Dispose(bool disposing)
    {
        if (disposing)
            command.Dispose();
        base.Dispose(disposing);
    }
}
