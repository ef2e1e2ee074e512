namespace PaymentGateway.Tests.Support;

/// <summary>A PostgreSQL server of the test run; a shell stops it when this process ends, however.</summary>
public sealed class PostgresServer : IAsyncDisposable
{
    // The end of standard input is the end of the tests. A frozen server has to be thawed before it can stop.
    private const string Watch = """
        set -u
        bin=$1 conf=$2 more=$3 listen=$4 server=
        # In memory where there are 4 GB of it: most tests make a database and drop it, which are 600 files.
        [ "$(df -P /dev/shm | awk 'NR == 2 { print $4 }')" -gt 4000000 ] && below=/dev/shm || below=/tmp
        dir=$(mktemp -d "$below/payment-gateway-tests.XXXXXX")
        as=
        if [ "$(id -u)" = 0 ]; then
          chown postgres: "$dir"
          as='setpriv --reuid=postgres --regid=postgres --init-groups --'
        fi
        start() {
          $as "$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses="$listen" -c max_connections=100 \
            -c deadlock_timeout=200ms -c max_prepared_transactions=4 </dev/null >>"$dir/log" 2>&1 &
          server=$!
        }
        stop() {
          [ -n "$server" ] || return 0
          kill -CONT "$server" $(cat "/proc/$server/task/$server/children" 2>/dev/null) 2>/dev/null
          kill -"$1" "$server" 2>/dev/null
          wait "$server"
          server=
        }
        trap 'stop QUIT; rm -rf "$dir"' EXIT
        cd /
        $as "$bin/initdb" -D "$dir/data" -A trust -U postgres -E UTF8 --locale=C --no-sync >"$dir/log" 2>&1 || {
          cat "$dir/log" >&2
          exit 1
        }
        [ -z "$conf" ] || cat "$conf" >"$dir/data/postgresql.conf"
        # Tests crash the server and not the machine, so what it has written stays without fsync.
        [ -n "$more" ] && cat "$more" >"$dir/data/durable.conf" || echo fsync=off >"$dir/data/durable.conf"
        echo "$dir"
        while read -r order; do
          case $order in start) start; echo "$server" ;; stop) stop INT; echo 0 ;; crash) stop QUIT; echo 0 ;; esac
        done
        """;

    public const string Pool =
        "Maximum Pool Size=10;Max Auto Prepare=32;Auto Prepare Min Usages=2;No Reset On Close=true";

    private static readonly Lazy<Task<PostgresServer>> OfThisRun = new(() => StartAsync());
    private static readonly Lazy<Task<PostgresServer>> DurableOfThisRun = new(() => StartAsync(durable: true));

    private readonly ServerScript _script;
    private readonly Lazy<Task> _tables;

    private PostgresServer(ServerScript script) => (_script, _tables) = (script, new(CreateTablesAsync));

    /// <summary>The one for all classes that do not hurt it; it ends with the test run.</summary>
    public static Task<PostgresServer> Shared => OfThisRun.Value;

    /// <summary>One with the durable profile's settings, for a single class, which may change them.</summary>
    public static Task<PostgresServer> SharedDurable => DurableOfThisRun.Value;

    public static bool IsInstalled => Binaries is not null;

    public static string? SkipReason => IsInstalled ? null : "lacks postgres: eng/setup brings it";

    public string Directory => _script.Directory;

    private int ProcessId { get; set; }

    public static string? Binaries { get; } = GatewaySystemSettings.OfShell.PostgresBinaries;

    public string ConnectionString(string database) =>
        $"Host={Directory};Username=postgres;Database={database};{Pool}";

    /// <param name="listen">An address for TCP beside the socket, at PostgreSQL's own port.</param>
    /// <param name="more">A file with further settings.</param>
    public static Task<PostgresServer> StartAsync(bool durable = false, string listen = "", string? more = null) =>
        StartAsync(
            Repository.PathOf("postgres", "postgresql.conf"),
            more ?? (durable ? Repository.PathOf("postgres", "durable.conf") : ""), listen);

    /// <summary>One with the settings that initdb writes.</summary>
    public static Task<PostgresServer> StartWithDefaultsAsync() => StartAsync("", "", "");

    /// <summary>Copies the database "tables", which has those of the unlogged profile and no rows.</summary>
    public async Task CopyTablesAsync(string database)
    {
        await _tables.Value;
        await ExecuteAsync($"CREATE DATABASE {database} TEMPLATE tables STRATEGY file_copy");
    }

    public async Task ExecuteAsync(string sql)
    {
        await using var connection = await Statements.OpenAsync(ConnectionString("postgres"));
        await connection.ExecuteAsync(sql);
    }

    /// <summary>Stops it as an operator would; connections end.</summary>
    public Task StopAsync() => _script.OrderAsync("stop");

    /// <summary>Ends it at once, without a word: what only its memory has is lost.</summary>
    public Task CrashAsync() => _script.OrderAsync("crash");

    public async Task StartAgainAsync()
    {
        ProcessId = int.Parse(await _script.OrderAsync("start"), CultureInfo.InvariantCulture);
        await Eventually.HoldsAsync(AnswersAsync, "PostgreSQL answers");
    }

    /// <summary>The server and its backends are frozen: connections stay, nothing answers.</summary>
    public void Freeze() => Send(Signal.Stop);

    public void Thaw() => Send(Signal.Continue);

    /// <summary>Some backends are frozen while a test does this, and the others go on.</summary>
    public static async Task FrozenAsync(int[] backends, Func<Task> meanwhileAsync)
    {
        Assert.All(backends, backend => Assert.True(Posix.Send(backend, Signal.Stop)));
        try
        {
            await meanwhileAsync();
        }
        finally
        {
            Assert.All(backends, backend => Assert.True(Posix.Send(backend, Signal.Continue)));
        }
    }

    public ValueTask DisposeAsync() => _script.DisposeAsync();

    private static async Task<PostgresServer> StartAsync(string settings, string more, string listen)
    {
        var server = new PostgresServer(
            await ServerScript.StartAsync("-c", Watch, "bash", Binaries!, settings, more, listen));
        await server.StartAgainAsync();
        return server;
    }

    private async Task CreateTablesAsync()
    {
        await ExecuteAsync("CREATE DATABASE tables");
        // Without connections at the end, because PostgreSQL copies no database that has some.
        await using var source = LedgerSetup.DataSource(ConnectionString("tables"));
        await new SchemaSetup(
            LedgerSetup.Shared(source, TimeProvider.System), Migration.All, durable: false,
            NullLogger<SchemaSetup>.Instance)
            .EnsureAsync();
    }

    private async Task<bool> AnswersAsync()
    {
        try
        {
            await using var connection = await Statements.OpenAsync(ConnectionString("postgres") + ";Timeout=10");
            return true;
        }
        catch (NpgsqlException)
        {
            return false;
        }
    }

    private void Send(Signal signal)
    {
        foreach (var child in ProcessTree.ChildrenOf(ProcessId))
            Posix.Send(child, signal);
        Assert.True(Posix.Send(ProcessId, signal));
    }
}

public sealed class PostgresFactAttribute() : NeedsFactAttribute(Postgres, PostgresServer.SkipReason);

public sealed class PostgresTheoryAttribute()
    : NeedsTheoryAttribute(NeedsFactAttribute.Postgres, PostgresServer.SkipReason);
