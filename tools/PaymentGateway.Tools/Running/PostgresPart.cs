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

/// <summary>The data directory: made once, its configuration written before each start.</summary>
internal static class PostgresData
{
    private const UnixFileMode Readable =
        UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead | UnixFileMode.OtherRead;

    /// <summary>Not to be broken off: what initdb has begun is removed by itself alone.</summary>
    public static async Task MakeAsync(
        SystemLayout system, IReadOnlyList<string> initdb, IReadOnlyDictionary<string, string?> variables)
    {
        await PostgresUser.MakeDirectoryAsync(system.DataDirectory);
        var made = await Shell.RunAsync(
            [
                .. initdb, "-D", system.DataDirectory, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C",
                .. system.Settings.Durable ? Array.Empty<string>() : ["--no-sync"],
            ],
            "/", variables);
        await File.AppendAllTextAsync(system.Folder.LogOf(PartNames.Postgres), made.Output + made.Errors);
        if (!made.Succeeded)
            throw Part.Failure(system.Folder, PartNames.Postgres, "could not make its data directory");
    }

    /// <summary>Copies, because user postgres may not be able to enter the clone.</summary>
    public static void Configure(SystemLayout system)
    {
        Copy("postgresql.conf", system.DataDirectory);
        // The profile is whether this file is there.
        if (system.Settings.Durable)
            Copy("durable.conf", system.DataDirectory);
        else
            File.Delete(Path.Combine(system.DataDirectory, "durable.conf"));
    }

    private static void Copy(string name, string directory)
    {
        var target = Path.Combine(directory, name);
        File.Copy(Repository.PathOf("postgres", name), target, overwrite: true);
        File.SetUnixFileMode(target, Readable);
    }
}

/// <summary>PostgreSQL refuses root: its programs then run as user postgres, who owns their directories.</summary>
internal static class PostgresUser
{
    private const string Name = "postgres";

    /// <summary>What goes before a command of PostgreSQL's.</summary>
    public static IReadOnlyList<string> Prefix { get; } = Environment.IsPrivilegedProcess
        ? ["setpriv", $"--reuid={Name}", $"--regid={Name}", "--init-groups", "--"]
        : [];

    /// <exception cref="ToolException">There is no such user.</exception>
    public static void Check()
    {
        if (Environment.IsPrivilegedProcess
            && !File.ReadLines("/etc/passwd").Any(line => line.StartsWith($"{Name}:", StringComparison.Ordinal)))
            throw new ToolException("PostgreSQL refuses root, and there is no user postgres for it");
    }

    /// <summary>A directory that the server alone may enter.</summary>
    public static async Task MakeDirectoryAsync(string path)
    {
        Directory.CreateDirectory(path);
        File.SetUnixFileMode(path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        if (Environment.IsPrivilegedProcess)
            await Shell.ReadAsync(["chown", $"{Name}:", path]);
    }

    public static async Task<bool> CanEnterAsync(string path) =>
        (await Shell.RunAsync([.. Prefix, "test", "-x", path], "/")).Succeeded;
}

/// <summary>Finds PostgreSQL where Debian installs it.</summary>
public static class InstalledPostgres
{
    private const string Versions = "/usr/lib/postgresql";

    /// <summary>The programs' directory of the newest version here; null when there is none.</summary>
    public static string? Newest => Directory.Exists(Versions)
        ? Directory.GetDirectories(Versions)
            .Select(version => Path.Combine(version, "bin"))
            .Where(programs => File.Exists(Path.Combine(programs, "postgres")))
            .MaxBy(Number)
        : null;

    private static int Number(string programs) =>
        int.TryParse(programs.Split('/')[^2], CultureInfo.InvariantCulture, out var number) ? number : 0;
}
