namespace PaymentGateway.Storage;

/// <summary>
/// A database that fails over, by one host name or by several (docs/decisions/0028-failover.md): of several hosts the
/// one that takes writes is used, and a commit counts once the standby has it.
/// </summary>
internal static class MultiHost
{
    // A silent server holds a batch for so long. Within 60 s a primary without its standby has stopped by itself.
    public const int CommandSeconds = 60;

    /// <summary>
    /// A condition of a statement that finds rows instead of writing them. A commit whose wait for the standby ended,
    /// by a crash, a cancel or a time limit, is visible, and lost if the standby is promoted. This makes the statement
    /// a commit of its own, which waits until the standby has everything before it. Nobody reads the message.
    /// </summary>
    public const string IsCommitted = "(SELECT pg_logical_emit_message(true, 'payment-gateway', '')) IS NOT NULL";

    // A standby cannot write a message.
    private const string CommitSql =
        "SELECT pg_logical_emit_message(true, 'payment-gateway', '') WHERE NOT pg_is_in_recovery()";

    // PostgreSQL gives its warnings no other code, and no statement of this program causes another one.
    private const string Warning = "01000";

    public static bool AreNamedIn(NpgsqlConnectionStringBuilder settings) =>
        settings.Host?.Contains(',', StringComparison.Ordinal) == true;

    public static void Prepare(NpgsqlConnectionStringBuilder settings)
    {
        // Npgsql multiplexes to one host only, and takes the kind of server from WithTargetSession alone.
        settings.Multiplexing = false;
        settings.Remove("Target Session Attributes");
        if (!settings.ShouldSerialize("Timeout"))
            settings.Timeout = 1;
        if (!settings.ShouldSerialize("Command Timeout"))
            settings.CommandTimeout = CommandSeconds;
        // A promoted standby is found after a second.
        if (!settings.ShouldSerialize("Host Recheck Seconds"))
            settings.HostRecheckSeconds = 1;
    }

    /// <summary>
    /// Each connection begins with a commit, so that its statements see nothing that a crash left on one server.
    /// </summary>
    public static void BeginWithCommit(NpgsqlSlimDataSourceBuilder builder) =>
        builder.UsePhysicalConnectionInitializer(Commit, CommitAsync);

    /// <summary>Runs a statement, whose success counts only if its commit has waited for the standby.</summary>
    /// <remarks>A multiplexed connection does not tell its warnings.</remarks>
    /// <exception cref="NpgsqlException">The statement failed, or the outcome is unknown.</exception>
    public static async Task<TResult> RunAsync<TArgs, TResult>(
        NpgsqlConnection connection, Func<NpgsqlConnection, TArgs, Task<TResult>> statement, TArgs args)
    {
        string? warning = null;
        connection.Notice += OnNotice;
        try
        {
            var result = await statement(connection, args);
            return warning is null ? result : throw new NpgsqlException($"The commit may be undone: {warning}");
        }
        finally
        {
            connection.Notice -= OnNotice;
        }

        void OnNotice(object sender, NpgsqlNoticeEventArgs told)
        {
            if (told.Notice.SqlState == Warning)
                warning = told.Notice.MessageText;
        }
    }

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
