using System.Buffers.Binary;

namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// A real database whose now() and clock_timestamp() are the time of the simulated cluster: the schema sim stands
/// before pg_catalog in the search path.
/// </summary>
/// <remarks>
/// Defaults and kept plans keep the functions that they were made with, so the schema stands before the tables.
/// </remarks>
public class SimulatedDatabase : TestDatabase
{
    private const string ClockSql = """
        CREATE SCHEMA sim;
        CREATE FUNCTION sim.now() RETURNS timestamptz LANGUAGE sql STABLE
            AS $$ SELECT current_setting('sim.now')::timestamptz $$;
        CREATE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
            AS $$ SELECT current_setting('sim.now')::timestamptz $$;
        """;

    // As the server settings that the durable profile asks for were on: nothing here crashes the machine.
    private const string SettingsSql = """
        CREATE VIEW sim.pg_settings AS
        SELECT name, CASE WHEN name IN ('fsync', 'full_page_writes', 'synchronous_commit') THEN 'on' ELSE setting END
            AS setting, source
        FROM pg_catalog.pg_settings
        """;

    // Each table as the migrations left it, whatever tables there are.
    private const string ResetSql = """
        SELECT string_agg(format(
            'DELETE FROM sim.%1$I; INSERT INTO sim.%1$I (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM made.%1$I;',
            relname, (SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
                      WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '')), ' ')
        FROM pg_class WHERE relnamespace = 'sim'::regnamespace AND relkind = 'r'
        """;

    private const string MadeSql = """
        SELECT 'CREATE SCHEMA made; ' || string_agg(format('CREATE TABLE made.%1$I AS TABLE sim.%1$I;', relname), ' ')
        FROM pg_class WHERE relnamespace = 'sim'::regnamespace AND relkind = 'r'
        """;

    private const string RestartSql = """
        SELECT string_agg(format('ALTER SEQUENCE sim.%I RESTART;', relname), ' ')
        FROM pg_class WHERE relnamespace = 'sim'::regnamespace AND relkind = 'S'
        """;

    private const string UnloggedSql = """
        SELECT 'TRUNCATE ' || string_agg(format('sim.%I', relname), ', ')
        FROM pg_class WHERE relnamespace = 'sim'::regnamespace AND relkind = 'r' AND relpersistence = 'u'
        """;

    private readonly Dictionary<string, Stack<Backend>> _spare = [];
    private Backend? _checks;
    private string _reset = "", _loseUnlogged = "";

    internal SimulatedTime? Time { get; set; }

    /// <summary>So far the database's clock is from the true time; it may jump, back too.</summary>
    internal TimeSpan Skew { get; set; }

    /// <summary>
    /// The connection string by another directory of the socket. Loading types at each start would cost more than all
    /// else, and a cancellation would wait for a schedule that waits for it.
    /// </summary>
    internal string Through(string directory) =>
        $"{ConnectionString};Host={directory};SSL Mode=Disable;Timeout=30;Cancellation Timeout=-1;"
        + "Server Compatibility Mode=NoTypeLoading";

    /// <summary>Begins another schedule: as after the first start of a cluster.</summary>
    internal void Begin(SimulatedTime time)
    {
        (Time, Skew) = (time, TimeSpan.Zero);
        Execute(_reset);
    }

    /// <summary>How often payments, settlements or totals may have changed.</summary>
    internal int Changes { get; set; }

    /// <summary>As a crash does: the tables that are not logged are empty.</summary>
    internal void LoseUnlogged() => Execute(_loseUnlogged);

    /// <summary>A page of the feed, by the gateway's own query.</summary>
    internal Task<EventPage?> EventsAsync(EventCursor? after, int limit) =>
        new EventStore(Shared).PageAsync(after, limit);

    /// <summary>What the database's clock says.</summary>
    internal DateTime Now => Time!.Wall + Skew;

    internal void Execute(string sql)
    {
        Changes++;
        Read(sql);
    }

    /// <summary>Rows of a statement of the simulation's own, past the links, as PostgreSQL prints them.</summary>
    internal List<string?[]> Read(string sql)
    {
        var rows = new List<string?[]>();
        ReadOnlySpan<byte> answer = _checks!.Ask(DatabaseLink.Query(sql), 1);
        while (!answer.IsEmpty)
        {
            var end = 1 + BinaryPrimitives.ReadInt32BigEndian(answer[1..]);
            if (answer[0] == 'E')
                throw new InvalidOperationException(Encoding.UTF8.GetString(answer[5..end]).Replace('\0', ' '));
            if (answer[0] == 'D')
                rows.Add(Values(answer[5..end]));
            answer = answer[end..];
        }

        return rows;
    }

    // How many, and for each its length, -1 for null, and its bytes.
    private static string?[] Values(ReadOnlySpan<byte> row)
    {
        var values = new string?[BinaryPrimitives.ReadInt16BigEndian(row)];
        row = row[2..];
        for (var at = 0; at < values.Length; at++)
        {
            var length = BinaryPrimitives.ReadInt32BigEndian(row);
            row = row[4..];
            if (length < 0)
                continue;

            values[at] = Encoding.UTF8.GetString(row[..length]);
            row = row[length..];
        }

        return values;
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
        backend.Time = null;
        if (!_spare.TryGetValue(backend.Key, out var spare))
            _spare.Add(backend.Key, spare = new Stack<Backend>());
        spare.Push(backend);
    }

    public override async Task DisposeAsync()
    {
        foreach (var backend in _spare.Values.SelectMany(spare => spare))
            backend.Dispose();
        _checks?.Dispose();
        await base.DisposeAsync();
    }

    protected override bool CopiesTables => false;

    protected override Task<PostgresServer>? TakeServer() => PostgresServer.Shared;

    protected virtual bool IsDurable => false;

    // The first message of a connection: its length, the protocol's version 3.0, and names with their values.
    private byte[] Startup(string option)
    {
        var to = new NpgsqlConnectionStringBuilder(ConnectionString);
        var names = Encoding.UTF8.GetBytes(
            $"user\0{to.Username}\0database\0{to.Database}\0options\0-c {option}\0\0");
        var message = new byte[8 + names.Length];
        BinaryPrimitives.WriteInt32BigEndian(message, message.Length);
        BinaryPrimitives.WriteInt32BigEndian(message.AsSpan(4), 3 << 16);
        names.CopyTo(message.AsSpan(8));
        return message;
    }

    protected override async Task PrepareAsync()
    {
        await ExecuteAsync(ClockSql);
        await ExecuteAsync(SettingsSql);
        var name = new NpgsqlConnectionStringBuilder(ConnectionString).Database;
        await ExecuteAsync(
            $"ALTER DATABASE {name} SET search_path = sim, pg_catalog, public; "
            + $"ALTER DATABASE {name} SET sim.now = '2030-01-01Z'");
        await ReopenAsync("client_min_messages=warning");
        await Schema(IsDurable).EnsureAsync();
        await ExecuteAsync(await ScalarAsync<string>(MadeSql));
        // Triggers of tables that nobody may change do not fire. Npgsql's sockets wait for .NET's own thread, which may
        // hand an answer to the pool, and that stands while the schedule's thread asks: it waited for 30 s then.
        _checks = Take(Startup("session_replication_role=replica"));
        _reset = $"DO $$ BEGIN {await ScalarAsync<string>(ResetSql)} {await ScalarAsync<string>(RestartSql)} END $$";
        _loseUnlogged = IsDurable ? "" : await ScalarAsync<string>(UnloggedSql);
    }

    /// <summary>A server process, with the answer to its beginning and the statements that it has prepared.</summary>
    internal sealed class Backend(Socket server, string key, byte[] greeting) : IDisposable
    {
        public string Key => key;

        public byte[] Greeting => greeting;

        public Dictionary<string, string> Statements { get; } = [];

        /// <summary>What its clock says; null where no statement has set it, or a rollback may take it back.</summary>
        public DateTime? Time { get; set; }

        public byte[] Ask(byte[] request, int statements)
        {
            server.Send(request);
            return DatabaseLink.ReadAnswers(server, statements);
        }

        public void Dispose() => server.Dispose();
    }
}

/// <summary>The same in the durable profile: a crash loses only what was not committed.</summary>
public sealed class SimulatedDurableDatabase : SimulatedDatabase
{
    protected override bool IsDurable => true;
}
