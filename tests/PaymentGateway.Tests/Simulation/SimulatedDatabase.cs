namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// A real database whose now() and clock_timestamp() are the time of the simulated cluster: the schema sim stands
/// before pg_catalog in the search path.
/// </summary>
/// <remarks>
/// Defaults and kept plans keep the functions that they were made with, so the schema stands before the tables.
/// </remarks>
public sealed class SimulatedDatabase : TestDatabase
{
    private const string ClockSql = """
        CREATE SCHEMA sim;
        CREATE FUNCTION sim.now() RETURNS timestamptz LANGUAGE sql STABLE
            AS $$ SELECT current_setting('sim.now')::timestamptz $$;
        CREATE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
            AS $$ SELECT current_setting('sim.now')::timestamptz $$;
        """;

    private const string ResetSql = """
        DELETE FROM payments; DELETE FROM settlements; DELETE FROM settlement_totals; DELETE FROM doubts;
        DELETE FROM leases WHERE epoch > 0; ALTER TABLE leases ALTER epoch RESTART;
        UPDATE ledger SET generation = 1, resets = 0, reset_at = NULL, kept_from = '-infinity',
                          removed_until = '-infinity', began_at = '2030-01-01Z';
        INSERT INTO ledger_intact (id) VALUES (1) ON CONFLICT DO NOTHING;
        UPDATE processor_health SET failing = false, min_response_ms = 0, polled_at = '-infinity',
                                    observed_at = '-infinity';
        """;

    private readonly Dictionary<string, Stack<Backend>> _spare = [];
    private NpgsqlConnection? _checks;

    internal SimulatedTime? Time { get; set; }

    /// <summary>So far the database's clock is from the true time; it may jump, back too.</summary>
    internal TimeSpan Skew { get; set; }

    /// <summary>
    /// The connection string by another directory of the socket. Loading types at each start would cost more than all
    /// else.
    /// </summary>
    internal string Through(string directory) =>
        $"{ConnectionString};Host={directory};SSL Mode=Disable;Timeout=30;Server Compatibility Mode=NoTypeLoading";

    /// <summary>Begins another schedule: as after the first start of a cluster.</summary>
    internal void Begin(SimulatedTime time)
    {
        (Time, Skew) = (time, TimeSpan.Zero);
        Execute(ResetSql);
    }

    /// <summary>Sets the clock of a server process.</summary>
    internal byte[] SetTime() => DatabaseLink.Query(
        $"SET sim.now = '{(Time!.Wall + Skew).ToString("O", CultureInfo.InvariantCulture)}'");

    internal void Execute(string sql)
    {
        using var command = new NpgsqlCommand(sql, _checks);
        command.ExecuteNonQuery();
    }

    /// <summary>Rows of a statement of the simulation's own, past the links.</summary>
    internal List<T> Read<T>(string sql, Func<NpgsqlDataReader, T> read)
    {
        using var command = new NpgsqlCommand(sql, _checks);
        using var reader = command.ExecuteReader();
        var rows = new List<T>();
        while (reader.Read())
            rows.Add(read(reader));
        return rows;
    }

    /// <summary>A server process for a connection that begins with these bytes.</summary>
    internal Backend Take(byte[] startup)
    {
        var key = Convert.ToHexString(startup);
        if (_spare.TryGetValue(key, out var spare) && spare.TryPop(out var used))
            return used;

        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Connect(new UnixDomainSocketEndPoint(Path.Combine(Server.Directory, ".s.PGSQL.5432")));
        socket.Send(startup);
        return new Backend(socket, key, DatabaseLink.ReadAnswers(socket, 1));
    }

    /// <summary>Keeps a server process without its session, because a new one costs more.</summary>
    internal void Return(Backend backend)
    {
        try
        {
            backend.Ask([.. DatabaseLink.Query("ROLLBACK"), .. DatabaseLink.Query("DISCARD ALL")], 2);
        }
        catch (Exception ended) when (ended is IOException or SocketException)
        {
            backend.Dispose();
            return;
        }

        backend.Statements.Clear();
        if (!_spare.TryGetValue(backend.Key, out var spare))
            _spare.Add(backend.Key, spare = new Stack<Backend>());
        spare.Push(backend);
    }

    public override async Task DisposeAsync()
    {
        foreach (var backend in _spare.Values.SelectMany(spare => spare))
            backend.Dispose();
        if (_checks is not null)
            await _checks.DisposeAsync();
        await base.DisposeAsync();
    }

    protected override bool CopiesTables => false;

    protected override Task<PostgresServer>? TakeServer() => PostgresServer.Shared;

    protected override async Task PrepareAsync()
    {
        await ExecuteAsync(ClockSql);
        var name = new NpgsqlConnectionStringBuilder(ConnectionString).Database;
        await ExecuteAsync(
            $"ALTER DATABASE {name} SET search_path = sim, pg_catalog, public; "
            + $"ALTER DATABASE {name} SET sim.now = '2030-01-01Z'");
        await ReopenAsync("client_min_messages=warning");
        await base.PrepareAsync();
        _checks = await Statements.OpenAsync(ConnectionString);
    }

    /// <summary>A server process, with the answer to its beginning and the statements that it has prepared.</summary>
    internal sealed class Backend(Socket server, string key, byte[] greeting) : IDisposable
    {
        public string Key => key;

        public byte[] Greeting => greeting;

        public Dictionary<string, string> Statements { get; } = [];

        public byte[] Ask(byte[] request, int statements)
        {
            server.Send(request);
            return DatabaseLink.ReadAnswers(server, statements);
        }

        public void Dispose() => server.Dispose();
    }
}
