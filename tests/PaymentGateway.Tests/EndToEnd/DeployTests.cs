namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The units of systemd and the standby of docs/deploy.md.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class DeployTests : IAsyncLifetime
{
    private const string Sockets = "/run/payment-gateway";

    private static readonly Regex Environment = new("^Environment=(.+)$", RegexOptions.Multiline);
    private static readonly Regex Installed = new("^ExecStart=[^ \n]+", RegexOptions.Multiline);
    private static readonly Regex Block = new(@"(?:^    \S.*\n)+", RegexOptions.Multiline);

    private static readonly string Unit = File.ReadAllText(Repository.PathOf("ops", "payment-gateway@.service"));
    private static readonly string Page = File.ReadAllText(Repository.PathOf("docs", "deploy.md"));

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("pg-deploy");
    private PostgresServer _server = null!;

    public async Task InitializeAsync()
    {
        if (!PostgresServer.IsInstalled)
            return;

        var settings = Path.Combine(_folder.FullName, "durable.conf");
        await File.WriteAllTextAsync(
            settings, File.ReadAllText(Repository.PathOf("postgres", "durable.conf")) + BlockWith("wal_level"));
        _server = await PostgresServer.StartAsync(more: settings);
    }

    public async Task DisposeAsync()
    {
        if (_server is not null)
            await _server.DisposeAsync();
        _folder.Delete(recursive: true);
    }

    [SystemdTheory]
    [InlineData("payment-gateway@.service")]
    [InlineData("payment-gateway-nginx.service")]
    public async Task A_unit_is_one_that_systemd_knows(string name)
    {
        var file = Path.Combine(_folder.FullName, name);
        var unit = await File.ReadAllTextAsync(Repository.PathOf("ops", name));
        await File.WriteAllTextAsync(file, Installed.Replace(unit, "ExecStart=/bin/true"));

        var verified = await ProgramRun.RunAsync(["systemd-analyze", "verify", file]);

        // An unknown setting is a line, and no failure.
        Assert.Equal((0, ""), (verified.ExitCode, verified.Output + verified.Errors));
    }

    // systemd's own figure from 0 to 10, times ten; 96 is no sandbox at all.
    [SystemdTheory]
    [InlineData("payment-gateway@.service")]
    [InlineData("payment-gateway-nginx.service")]
    public async Task A_unit_leaves_its_service_little_of_the_system(string name)
    {
        var file = Path.Combine(_folder.FullName, name.Replace("@", "@api1", StringComparison.Ordinal));
        File.Copy(Repository.PathOf("ops", name), file);

        var judged = await ProgramRun.RunAsync(
            ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", file]);

        Assert.True(judged.ExitCode == 0, judged.Output + judged.Errors);
    }

    // The sockets themselves are open to everyone, because nginx is another user.
    [Fact]
    public void Only_the_group_of_the_instances_reaches_their_sockets_and_nginx_is_in_it()
    {
        var nginx = File.ReadAllText(Repository.PathOf("ops", "payment-gateway-nginx.service"));

        Assert.Contains("\nRuntimeDirectoryMode=0750\n", Unit, StringComparison.Ordinal);
        Assert.Contains("\nUser=payment-gateway\n", Unit, StringComparison.Ordinal);
        Assert.Contains("\nSupplementaryGroups=payment-gateway\n", nginx, StringComparison.Ordinal);
        Assert.DoesNotContain("\nUser=payment-gateway\n", nginx, StringComparison.Ordinal);
    }

    [GatewaySystemFact]
    public async Task An_instance_starts_as_the_unit_says()
    {
        await _server.ExecuteAsync("CREATE DATABASE gateway");
        var secrets = _folder.CreateSubdirectory("secrets").FullName;
        await File.WriteAllTextAsync(
            Path.Combine(secrets, "ConnectionStrings__Ledger"), _server.ConnectionString("gateway"));
        var settings = Environment.Matches(Unit).SelectMany(line => line.Groups[1].Value.Split(' '))
            .Concat(BlockWith("Gateway__Ledger__Retention").Split('\n', StringSplitOptions.RemoveEmptyEntries))
            .Select(one => one.Trim().Replace("%i", "api1").Replace("%d", secrets).Replace(Sockets, _folder.FullName))
            .ToDictionary(one => one.Split('=')[0], one => (string?)one.Split('=', 2)[1]);

        await using var instance = GatewaySystemInstance.Start(settings);
        using var payers = UnixHttp.To(Path.Combine(_folder.FullName, "api1.sock"));
        using var operators = UnixHttp.To(Path.Combine(_folder.FullName, "api1-admin.sock"));
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(payers), "the instance is ready");
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(operators, "metrics"), "an operator is answered");
        Assert.False(await Eventually.IsReadyAsync(payers, "metrics"));
        instance.Terminate();

        Assert.Equal(0, (await instance.EndAsync(TimeSpan.FromSeconds(15))).ExitCode);
    }

    [PostgresFact]
    public async Task A_standby_replicates_with_the_settings_of_the_page()
    {
        await MakeStandbyAsync();
        await StartStandbyAsync();
        try
        {
            await CommitsWaitAsync();

            await _server.ExecuteAsync("CREATE TABLE proof (id integer)");

            await using var copy = await Statements.OpenAsync($"{_server.ConnectionString("postgres")};Port=5433");
            await Eventually.HoldsAsync(
                () => copy.ScalarAsync<bool>("SELECT to_regclass('proof') IS NOT NULL AND pg_is_in_recovery()"),
                "the standby has it");
        }
        finally
        {
            await StopStandbyAsync();
        }
    }

    // A name that means the primary, then the promoted standby: of a service of Kubernetes, HAProxy or a virtual IP.
    [GatewaySystemFact, Trait(Alone.Lane, LongRunning.Name)]
    public async Task After_a_failover_behind_one_name_nothing_acknowledged_is_lost_and_nobody_is_charged_twice()
    {
        await _server.ExecuteAsync("CREATE DATABASE gateway");
        await MakeStandbyAsync();
        await StartStandbyAsync();
        await CommitsWaitAsync();
        var port = 5432;
        await using var name = new Relay(
            SocketIn(_folder.FullName, port), () => SocketIn(_server.Directory, Volatile.Read(ref port)));
        await using var system = await GatewaySystem.UpAsync(
            ("LEDGER", $"Host={_folder.FullName};Username=postgres;Database=gateway;Multiplexing=true"),
            ("PROFILE", "durable"));
        var ledger = new LoadLedger();
        await LoadDriver.RunAtRateAsync(system.Client, ledger, perSecond: 50, TimeSpan.FromSeconds(2));
        ledger.NoClientSawAnError();

        // Clients repeat what was not acknowledged, for longer than a statement's time limit of 6 s.
        await StopStandbyAsync();
        var retry = new LoadRetry(60, TimeSpan.FromMilliseconds(300));
        var repeated = LoadDriver.RunAtRateAsync(
            system.Client, ledger, perSecond: 20, TimeSpan.FromSeconds(2), retry);
        await Task.WhenAny(repeated, Task.Delay(TimeSpan.FromSeconds(12)));
        await _server.CrashAsync();
        await StartStandbyAsync();
        await RunAsync("pg_ctl", "promote", "-w", "-D", Standby);
        Volatile.Write(ref port, 5433);
        try
        {
            await repeated;
            await LedgerCheck.AgreesAsync(system, ledger, within: TimeSpan.FromSeconds(60));
            Assert.Equal(ledger.Count, ledger.Acknowledged);
        }
        finally
        {
            await StopStandbyAsync();
        }
    }

    private string Standby => Path.Combine(_server.Directory, "standby");

    private static UnixDomainSocketEndPoint SocketIn(string directory, int port) =>
        new(Path.Combine(directory, string.Create(CultureInfo.InvariantCulture, $".s.PGSQL.{port}")));

    private Task MakeStandbyAsync() =>
        RunAsync("pg_basebackup", "-R", "-h", _server.Directory, "-U", "postgres", "-D", Standby);

    // With the limits of the tests' server, which a standby must have, too.
    private Task StartStandbyAsync() => RunAsync(
        "pg_ctl", "start", "-w", "-D", Standby, "-l", $"{Standby}.log", "-o",
        $"-k {_server.Directory} -p 5433 -c listen_addresses= -c max_connections=100 "
        + "-c max_prepared_transactions=4");

    private Task StopStandbyAsync() => RunAsync("pg_ctl", "stop", "-m", "immediate", "-D", Standby);

    private async Task CommitsWaitAsync()
    {
        await _server.ExecuteAsync("ALTER SYSTEM SET synchronous_standby_names = '*'");
        await _server.ExecuteAsync("SELECT pg_reload_conf()");
        await using var primary = await Statements.OpenAsync(_server.ConnectionString("postgres"));
        await Eventually.HoldsAsync(
            () => primary.ScalarAsync<bool>(
                "SELECT EXISTS (SELECT FROM pg_stat_replication "
                + "WHERE state = 'streaming' AND sync_state = 'sync')"),
            "commits wait for the standby");
    }

    private static string BlockWith(string setting) => Block.Matches(Page).Select(block => block.Value)
        .Single(block => block.Contains($"    {setting}", StringComparison.Ordinal)).Replace("    ", "");

    // As the server's own user; what it starts keeps none of our pipes.
    private static async Task RunAsync(string program, params string[] arguments)
    {
        string[] user = System.Environment.IsPrivilegedProcess
            ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
            : [];

        var run = await Shell.RunAsync(
            [
                "bash", "-c", "cd / && exec \"$@\" </dev/null >/dev/null", "bash", .. user,
                Path.Combine(PostgresServer.Binaries!, program), .. arguments,
            ]);

        Assert.True(run.Succeeded, $"{program}: {run}");
    }

    private sealed class SystemdTheoryAttribute() : NeedsTheoryAttribute(
        "systemd", Programs.Has("systemd-analyze") ? null : "lacks systemd: eng/setup tests brings it");
}
