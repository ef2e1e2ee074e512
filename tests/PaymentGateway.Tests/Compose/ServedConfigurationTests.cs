namespace PaymentGateway.Tests.Compose;

/// <summary>
/// The very files of `make run`, given to nginx and PostgreSQL by the command lines of the compose file, with paths of
/// this machine instead of the containers'.
/// </summary>
public sealed partial class ServedConfigurationTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("payment-gateway-tests.").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    // ASP.NET's routes ignore letter case and a slash at the end. nginx decodes a path before it compares it.
    [Theory]
    [InlineData("/docs", "set $docs all;")]
    [InlineData("/Docs/Swagger-ui.css", "set $docs all;")]
    [InlineData("/openapi.json", "set $docs all;")]
    [InlineData("/OpenAPI.json/", "set $docs all;")]
    [InlineData("/purge-payments", "proxy_next_upstream error timeout non_idempotent;")]
    [InlineData("/Purge-Payments/", "proxy_next_upstream error timeout non_idempotent;")]
    [InlineData("/docsier", null)]
    [InlineData("/openapi-json", null)]
    [InlineData("/purge-payments/all", null)]
    public void Nginx_limits_hold_for_every_spelling_that_a_route_matches(string path, string? limit)
    {
        var text = File.ReadAllText(Repository.PathOf("nginx", "nginx.conf"));
        var location = Locations().Matches(text)
            .SingleOrDefault(one => Regex.IsMatch(path, one.Groups["path"].Value, RegexOptions.IgnoreCase));

        Assert.Equal(limit is not null, location is not null);
        Assert.Contains(limit ?? "", location?.Value ?? "", StringComparison.Ordinal);
        // A limit of a location's own would replace all that are above it.
        Assert.Equal(
            ["limit_conn in_flight 1024;", "limit_conn docs 32;"],
            LimitsOfConnections().Matches(text).Select(one => one.Value));
        Assert.Contains("limit_conn_zone $docs ", text, StringComparison.Ordinal);
    }

    [GatewaySystemFact]
    public async Task Nginx_takes_its_configuration_as_the_containers_user_and_writes_below_its_prefix_only()
    {
        var files = FilesOf(ComposeProject.Challenge["nginx"]);
        Assert.Equal("./nginx/nginx.conf", files["nginx.conf"]);
        Assert.Equal("./nginx/upstreams/one-machine.conf", files["upstreams.conf"]);
        // One address sends all of the challenge's load.
        Assert.DoesNotContain("limits.conf", files.Keys);

        await IsTakenAsync(files);
    }

    [GatewaySystemFact]
    public async Task Nginx_of_the_durable_profile_has_limits_per_address()
    {
        var files = FilesOf(ComposeProject.Durable["nginx"]);
        Assert.Equal("./nginx/limits.conf", files["limits.conf"]);

        await IsTakenAsync(files);
    }

    [GatewaySystemFact]
    public Task Nginx_takes_the_upstreams_of_more_hosts_in_the_place_of_those_of_one_machine() =>
        IsTakenAsync(new Dictionary<string, string>
        {
            ["nginx.conf"] = "nginx/nginx.conf",
            ["upstreams.conf"] = "nginx/upstreams/hosts.conf",
            ["limits.conf"] = "nginx/limits.conf",
        });

    private static Dictionary<string, string> FilesOf(ComposeService nginx) =>
        nginx.Mounts.Where(mount => mount.Type == "bind")
            .ToDictionary(mount => Path.GetFileName(mount.Target), mount => mount.Source);

    /// <param name="files">From the name beside nginx.conf to the file of the repository.</param>
    private async Task IsTakenAsync(Dictionary<string, string> files)
    {
        var nginx = ComposeProject.Challenge["nginx"];
        // Copies: that user may not be able to enter the clone.
        foreach (var (name, source) in files)
            File.Copy(Repository.PathOf(source), Path.Combine(_folder, name));
        var prefix = Directory.CreateDirectory(Path.Combine(_folder, "prefix")).FullName;
        await AllowAsync(nginx.User);

        var command = nginx.Command!.Select(word => word
            .Replace(nginx.Tmpfs.Keys.Single() + "/", prefix + "/", StringComparison.Ordinal)
            .Replace("/etc/nginx/", _folder + "/", StringComparison.Ordinal));
        var run = await ProgramRun.RunAsync([.. As(nginx.User), .. command, "-t"], _folder);

        Assert.True(run.ExitCode == 0, run.Errors);
        Assert.Contains("test is successful", run.Errors);
        Assert.NotEmpty(Directory.GetDirectories(prefix));
        var left = Directory.GetFileSystemEntries(_folder).Select(Path.GetFileName).Order();
        Assert.Equal(files.Keys.Append("prefix").Order(), left);
    }

    [PostgresFact]
    public async Task PostgreSQL_takes_its_configuration_and_the_profile_is_whether_the_second_file_is_there()
    {
        var usual = await AskAsync(ComposeProject.WithSimulators["postgres"]);
        var durable = await AskAsync(ComposeProject.Durable["postgres"]);

        foreach (var settings in new[] { usual, durable })
        {
            Assert.Equal("", settings["listen_addresses"]);
            // Where the image's own start script and the mount expect the socket, also in the distribution's build.
            Assert.Equal("/var/run/postgresql", settings["unix_socket_directories"]);
        }

        Assert.Equal(("on", "off"), (usual["fsync"], usual["synchronous_commit"]));
        Assert.Equal(("on", "on"), (durable["fsync"], durable["synchronous_commit"]));
        // Blocks of 8 kB; the rest of the limit is for sessions.
        var shared = int.Parse(usual["shared_buffers"]) * 8 / 1024;
        Assert.True(shared * 2 <= ComposeProject.Challenge["postgres"].MemoryMegabytes);
    }

    [PostgresFact]
    public async Task On_a_new_server_the_first_start_script_runs_and_the_gateways_role_owns_its_database()
    {
        await using var server = await PostgresServer.StartAsync();
        // One by one, as psql sends them: a database cannot be made in a transaction.
        foreach (var statement in File.ReadAllText(Repository.PathOf("postgres", "gateway.sql"))
            .Split(";\n", StringSplitOptions.RemoveEmptyEntries))
            await server.ExecuteAsync(statement);

        var address = new NpgsqlConnectionStringBuilder(
            ComposeProject.Challenge["api1"].Environment["ConnectionStrings__Ledger"])
        { Host = server.Directory };
        await using var gateway = await Statements.OpenAsync(address.ConnectionString);
        await gateway.ExecuteAsync("CREATE UNLOGGED TABLE proof (id integer)");
        Assert.False(await gateway.ScalarAsync<bool>(
            "SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = current_user"));
    }

    [PostgresFact]
    public async Task Containers_that_reach_the_socket_or_a_port_cannot_log_in_as_the_superuser()
    {
        // Compose's server has no port. Here it has one, on an address of this process alone.
        var port = $"127.2.{Environment.ProcessId >> 8 & 255}.{Environment.ProcessId & 255}";
        var postgres = ComposeProject.Challenge["postgres"];
        var file = Assert.Single(postgres.Mounts, mount => mount.Target == "/etc/postgresql/pg_hba.conf");
        Assert.Contains($"hba_file={file.Target}", postgres.Command!);

        await using var server = await PostgresServer.StartAsync(listen: port);
        await server.ExecuteAsync("CREATE ROLE gateway LOGIN");
        await server.ExecuteAsync("CREATE DATABASE gateway OWNER gateway");
        // Written over, the file stays the server's.
        await File.WriteAllTextAsync(
            Path.Combine(server.Directory, "data", "pg_hba.conf"),
            await File.ReadAllTextAsync(Repository.PathOf(file.Source)));
        await server.ExecuteAsync("SELECT pg_reload_conf()");

        await Eventually.HoldsAsync(
            async () => !await LogsInAsync(server.Directory, "postgres", "postgres"), "the server has read the file");
        Assert.True(await LogsInAsync(server.Directory, "gateway", "gateway"));
        Assert.False(await LogsInAsync(server.Directory, "postgres", "gateway"));
        Assert.False(await LogsInAsync(server.Directory, "gateway", "postgres"));
        Assert.False(await LogsInAsync(port, "postgres", "postgres"));
        Assert.False(await LogsInAsync(port, "gateway", "gateway"));
    }

    private static async Task<bool> LogsInAsync(string host, string user, string database)
    {
        try
        {
            await using var connection = await Statements.OpenAsync(
                $"Host={host};Username={user};Database={database}");
            return true;
        }
        catch (PostgresException refused)
            when (refused.SqlState == PostgresErrorCodes.InvalidAuthorizationSpecification)
        {
            return false;
        }
    }

    private static async Task<Dictionary<string, string>> AskAsync(ComposeService postgres)
    {
        var etc = Directory.CreateTempSubdirectory("payment-gateway-tests.").FullName;
        foreach (var mount in postgres.Mounts.Where(mount => mount.Target.StartsWith("/etc/postgresql/")))
            File.Copy(Repository.PathOf(mount.Source), Path.Combine(etc, Path.GetFileName(mount.Target)));
        var command = postgres.Command!.Select(word => word.Replace("/etc/postgresql", etc)).ToArray();
        Assert.Equal("postgres", command[0]);
        command[0] = Path.Combine(PostgresServer.Binaries!, "postgres");
        var data = Directory.CreateDirectory(Path.Combine(etc, "data")).FullName;

        var settings = new Dictionary<string, string>();
        foreach (var name in new[]
        {
            "listen_addresses", "unix_socket_directories", "fsync", "synchronous_commit", "shared_buffers",
        })
        {
            // -C first: only then root may ask.
            var run = await ProgramRun.RunAsync([command[0], "-C", name, .. command[1..], "-D", data], etc);
            Assert.True(run.ExitCode == 0, run.Errors);
            settings[name] = run.Output.Trim();
        }

        Directory.Delete(etc, recursive: true);
        return settings;
    }

    // Only root can become somebody else; anyone else tries it as who he is.
    private static string[] As(string user) => Environment.UserName == "root"
        ? ["setpriv", $"--reuid={user.Split(':')[0]}", $"--regid={user.Split(':')[1]}", "--clear-groups", "--"]
        : [];

    private async Task AllowAsync(string user)
    {
        if (Environment.UserName == "root")
            await ProgramRun.RunAsync(["chown", "-R", user, _folder]);
    }

    [GeneratedRegex(@"location ~\* (?<path>\S+) \{[^}]*\}")]
    private static partial Regex Locations();

    [GeneratedRegex("limit_conn [a-z].*;")]
    private static partial Regex LimitsOfConnections();
}
