namespace PaymentGateway.Storage;

/// <summary>A database that fails over: the host that takes writes is used (docs/decisions/0028-failover.md).</summary>
internal static class MultiHost
{
    // Npgsql's time limit would cancel a commit's wait for the standby, and a row that only one server has would be
    // visible. Within 60 s a primary without its standby has stopped by itself.
    public const int CommandSeconds = 60;

    // Writes a message into the WAL that nobody reads. A standby cannot write one.
    private const string CommitSql =
        "SELECT pg_logical_emit_message(true, 'payment-gateway', '') WHERE NOT pg_is_in_recovery()";

    public static bool AreNamedIn(NpgsqlConnectionStringBuilder settings) =>
        settings.Host?.Contains(',', StringComparison.Ordinal) == true;

    public static void Prepare(NpgsqlConnectionStringBuilder settings)
    {
        // Npgsql multiplexes to one host only, and takes the kind of server from WithTargetSession alone.
        settings.Multiplexing = false;
        settings.Remove("Target Session Attributes");
        // A commit whose wait for the standby is cancelled looks done, so nobody reads the answer after a cancel.
        settings.CancellationTimeout = -1;
        if (!settings.ShouldSerialize("Timeout"))
            settings.Timeout = 1;
        if (!settings.ShouldSerialize("Command Timeout"))
            settings.CommandTimeout = CommandSeconds;
        // A promoted standby is found after a second.
        if (!settings.ShouldSerialize("Host Recheck Seconds"))
            settings.HostRecheckSeconds = 1;
    }

    /// <summary>
    /// A data source whose connections see nothing that only one server has. A commit that still waited for the standby
    /// is visible after its server's crash, and lost if the standby is promoted. So each connection begins with a
    /// commit, which waits until the standby has everything before it; a crash ends all earlier connections.
    /// </summary>
    public static NpgsqlDataSource Build(NpgsqlSlimDataSourceBuilder builder) => builder
        .UsePhysicalConnectionInitializer(Commit, CommitAsync)
        .BuildMultiHost().WithTargetSession(TargetSessionAttributes.ReadWrite);

    private static void Commit(NpgsqlConnection connection)
    {
        using var commit = new NpgsqlCommand(CommitSql, connection);
        commit.ExecuteNonQuery();
    }

    private static async Task CommitAsync(NpgsqlConnection connection)
    {
        await using var commit = new NpgsqlCommand(CommitSql, connection);
        await commit.ExecuteNonQueryAsync();
    }
}
