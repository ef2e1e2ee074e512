using System.Globalization;
using Npgsql;

namespace PaymentGateway.Tools.Running;

/// <summary>The database server, with a data directory that is made when it is not there yet.</summary>
internal sealed class PostgresPart() : Part(PartNames.Postgres)
{
    private static readonly Dictionary<string, string?> NothingInherited = new()
    {
        ["PGDATA"] = null,
        ["PGPORT"] = null,
        ["PGHOST"] = null,
    };

    // A fast shutdown: sessions end, a checkpoint is written.
    public override Signal StopSignal => Signal.Interrupt;

    public override TimeSpan StopLimit => TimeSpan.FromSeconds(15);

    public override void Check(SystemLayout system)
    {
        if (system.Settings.PostgresBinaries is not { } programs || !File.Exists(Path.Combine(programs, "postgres")))
            throw new ToolException("PostgreSQL is missing: eng/setup");
    }

    /// <summary>Returns when it takes connections and has the gateway's role and database.</summary>
    public override async Task LaunchAsync(
        SystemLayout system, PartLauncher launcher, CancellationToken cancellation)
    {
        Check(system);
        if (!File.Exists(Path.Combine(system.DataDirectory, "PG_VERSION")))
            await PostgresData.MakeAsync(system, Program(system, "initdb"), NothingInherited);
        cancellation.ThrowIfCancellationRequested();
        PostgresData.Configure(system);
        await WaitForUnreapedAsync(system.DataDirectory, cancellation);
        // The socket is for its owner and root only: within it everyone is trusted.
        launcher.Launch(
            system, Name, "/",
            [
                .. Program(system, "postgres"), "-D", system.DataDirectory, "-c", "listen_addresses=", "-c",
                "port=5432", "-c", $"unix_socket_directories={system.PostgresSocketDirectory}", "-c",
                "unix_socket_permissions=0700", .. system.Settings.PostgresArguments,
            ],
            NothingInherited);
        await AwaitAsync(system, cancellation);
        await MakeDatabaseAsync(system, cancellation);
    }

    public override async Task<bool> IsReadyAsync(SystemLayout system, CancellationToken cancellation)
    {
        try
        {
            await AskAsync(system, "SELECT 1", cancellation);
            return true;
        }
        catch (NpgsqlException)
        {
            return false; // It does not listen yet, or says that it is starting.
        }
    }

    private static IReadOnlyList<string> Program(SystemLayout system, string name) =>
        [.. PostgresUser.Prefix, Path.Combine(system.Settings.PostgresBinaries!, name)];

    // A killed server that nobody has reaped yet still counts as running for the lock file.
    private static async Task WaitForUnreapedAsync(string data, CancellationToken cancellation)
    {
        var file = Path.Combine(data, "postmaster.pid");
        if (File.Exists(file) && int.TryParse(
            File.ReadLines(file).FirstOrDefault(), NumberStyles.None, CultureInfo.InvariantCulture, out var old))
            await Waiting.UntilAsync(() => ProcessStatus.Read(old) is not { IsAlive: false }, cancellation);
    }

    private static async Task MakeDatabaseAsync(SystemLayout system, CancellationToken cancellation)
    {
        if (await AskAsync(system, "SELECT 1 FROM pg_roles WHERE rolname = 'gateway'", cancellation) is null)
            await AskAsync(system, "CREATE ROLE gateway LOGIN", cancellation);
        if (await AskAsync(system, "SELECT 1 FROM pg_database WHERE datname = 'gateway'", cancellation) is null)
            await AskAsync(system, "CREATE DATABASE gateway OWNER gateway", cancellation);
    }

    private static async Task<object?> AskAsync(SystemLayout system, string sql, CancellationToken cancellation)
    {
        await using var connection = new NpgsqlConnection(
            $"Host={system.PostgresSocketDirectory};Username=postgres;Database=postgres;Pooling=false");
        await connection.OpenAsync(cancellation);
        await using var command = new NpgsqlCommand(sql, connection);
        return await command.ExecuteScalarAsync(cancellation);
    }
}
