using PaymentGateway.Tools.Limiting;
using YamlDotNet.Core;
using YamlDotNet.Serialization;

namespace PaymentGateway.Tests.Compose;

/// <summary>The rules of the compose files that no engine checks; `make compose-test` plays the others.</summary>
public sealed class ComposeFileTests
{
    // A version down to the patch, or an image of ours that is built here.
    private static readonly Regex FixedTag = new(
        @"^\$\{[A-Z_]+:-[a-z-]+:([0-9]+\.[0-9]+(\.[0-9]+)?-[a-z-]+|local)\}$");
    private static readonly Regex WorkerShutdown = new(@"worker_shutdown_timeout ([0-9]+)s;");

    private static readonly Regex Variable = new(@"\$\{([A-Z_]+):-([^}]+)\}");

    private const decimal CpusMax = 1.5m;
    private const int MegabytesMax = 350;
    private const string Data = "/var/lib/postgresql/data";

    private static readonly JsonNode Challenge = Read("docker-compose.yml");
    private static readonly JsonNode Simulators = Read("docker-compose.override.yml");
    private static readonly JsonNode Durable = Read("docker-compose.durable.yml");

    private static JsonObject Services => Challenge["services"]!.AsObject();

    [Fact]
    public void All_services_together_stay_within_1_5_CPU_and_350_MB_and_no_override_changes_a_share()
    {
        var split = ComposeSplit.Read();

        Assert.Equal(["api1", "api2", "nginx", "postgres"], Services.Select(one => one.Key).Order());
        Assert.Equal(CpusMax, split.Values.Sum(one => one.Cpus)); // CPU that is not given out helps nobody.
        Assert.InRange(split.Values.Sum(one => one.MemoryMegabytes), 1, MegabytesMax);
        Assert.Equal(split["api1"].Cpus, split["api2"].Cpus);
        Assert.All(Services, one => Assert.Null(Simulators["services"]![one.Key]?["deploy"]));
        Assert.All(Services, one => Assert.Null(Durable["services"]![one.Key]?["deploy"]));
    }

    [Fact]
    public void No_service_has_more_rights_than_it_needs()
    {
        var services = new[] { Challenge, Simulators, Durable }.SelectMany(file => file["services"]!.AsObject())
            .Where(one => one.Value!["image"] is not null).ToList();

        Assert.Equal(4 + 2 + 1, services.Count);
        foreach (var (name, service) in services)
        {
            Assert.True(Text(service!["read_only"]) == "true", $"{name} can write to its root");
            Assert.Equal("""["ALL"]""", service["cap_drop"]!.ToJsonString());
            Assert.Equal("""["no-new-privileges:true"]""", service["security_opt"]!.ToJsonString());
            Assert.Matches("^[1-9][0-9]*:[1-9][0-9]*$", Text(service["user"]));
            // `pids_limit` beside other limits is refused by Compose 2.26.
            Assert.InRange(int.Parse(Text(service["deploy"]!["resources"]!["limits"]!["pids"])), 1, 256);
            foreach (var key in new[] { "privileged", "cap_add", "pid", "ipc", "devices", "scale", "network_mode" })
                Assert.Null(service[key]);
            Assert.Null(service["deploy"]!["replicas"]);
            Assert.Equal("${IMAGE_PLATFORM:-linux/amd64}", Text(service["platform"]));
            Assert.Matches(FixedTag, Text(service["image"]));
            Assert.All(service["volumes"]?.AsArray() ?? [], mount => Assert.True(
                Text(mount!["read_only"]) == "true" || Text(mount["type"]) != "bind", Text(mount["source"])));
            Assert.Matches("^[0-9]m$", Text(service["logging"]!["options"]!["max-size"]));
            Assert.Matches("^[0-9]$", Text(service["logging"]!["options"]!["max-file"]));
            // A clean stop, as that of the host, would be for good with on-failure.
            Assert.Equal(name == "migrate" ? "no" : "unless-stopped", Text(service["restart"]));
        }

        // nginx has no way to the database, and makes no socket of an instance.
        Assert.DoesNotContain("postgres-socket", Services["nginx"]!.ToJsonString(), StringComparison.Ordinal);
        Assert.Equal("true", Text(Mount(Services["nginx"]!, "/sockets")["read_only"]));
        var postgres = Services["postgres"]!;
        Assert.DoesNotContain("gateway-sockets", postgres.ToJsonString(), StringComparison.Ordinal);
        Assert.Equal("./postgres/pg_hba.conf", Text(Mount(postgres, "/etc/postgresql/pg_hba.conf")["source"]));
        Assert.Superset(
            new HashSet<string> { "hba_file=/etc/postgresql/pg_hba.conf", "listen_addresses=" },
            postgres["command"]!.AsArray().Select(Text).ToHashSet());
    }

    [Fact]
    public void Networks_are_bridges_and_a_service_is_in_those_that_it_needs()
    {
        Assert.Equal("bridge", Text(Challenge["networks"]!["backend"]!["driver"]));
        // It leads nowhere. The database and the migration, which is a superuser there, use the socket alone.
        Assert.Equal(
            ("bridge", "true"),
            (Text(Challenge["networks"]!["database"]!["driver"]),
                Text(Challenge["networks"]!["database"]!["internal"])));
        Assert.Equal("""["database"]""", Durable["services"]!["migrate"]!["networks"]!.ToJsonString());
        Assert.Equal("bridge", Text(Simulators["networks"]!["payment-processor"]!["driver"]));
        Assert.NotEqual("payment-processor", Text(Simulators["networks"]!["payment-processor"]!["name"]));
        foreach (var (name, service) in Services)
            Assert.Equal(
                name switch
                {
                    "nginx" => """["backend"]""",
                    "postgres" => """["database"]""",
                    _ => """["backend","payment-processor"]""",
                },
                service!["networks"]!.ToJsonString());
        // The network reaches the payments alone; the ports of an operator and of the simulators are this machine's.
        Assert.Equal(
            ["127.0.0.1:8001:8080", "127.0.0.1:8002:8080", "127.0.0.1:9101:9101", "127.0.0.1:9102:9101", "9999:9999"],
            Services.Concat(Simulators["services"]!.AsObject())
                .SelectMany(one => one.Value!["ports"]?.AsArray() ?? []).Select(Text).Order());
    }

    [Fact]
    public void A_stop_leaves_each_service_its_time_and_asks_by_the_signal_of_make_down()
    {
        var hostMargin = TimeSpan.FromSeconds(5);
        var workerShutdown = WorkerShutdown.Match(File.ReadAllText(Repository.PathOf("nginx", "nginx.conf")));

        Assert.True(GraceOf("api1") > TestSettings.Read().Settling.DrainTimeout + hostMargin);
        Assert.Equal(GraceOf("api1"), GraceOf("api2"));
        Assert.True(GraceOf("nginx") > TimeSpan.FromSeconds(int.Parse(workerShutdown.Groups[1].Value)));
        Assert.True(GraceOf("postgres") >= TimeSpan.FromSeconds(30));
        foreach (var (name, service) in Services)
            Assert.Equal(Part.Named(name).StopSignal, Text(service!["stop_signal"]) switch
            {
                "SIGTERM" => Signal.Terminate,
                "SIGQUIT" => Signal.Quit,
                "SIGINT" => Signal.Interrupt,
                var other => throw new InvalidOperationException(other),
            });
    }

    [Fact]
    public void The_durable_profile_has_data_files_and_limits_of_its_own_and_a_user_that_only_migrates()
    {
        var (usual, durable) = (Services["postgres"]!, Durable["services"]!["postgres"]!);

        Assert.NotEqual(Text(Mount(usual, Data)["source"]), Text(Mount(durable, Data)["source"]));
        Assert.Equal(
            "./nginx/limits.conf",
            Text(Mount(Durable["services"]!["nginx"]!, "/etc/nginx/limits.conf")["source"]));
        // One address sends all of the challenge's load.
        Assert.DoesNotContain("limits.conf", Services["nginx"]!.ToJsonString(), StringComparison.Ordinal);
        // PostgreSQL lets its own user in as superuser.
        Assert.Equal(Text(usual["user"]), Text(Durable["services"]!["migrate"]!["user"]));
        Assert.NotEqual(Text(usual["user"]), Text(Services["api1"]!["user"]));
    }

    // The other two files say Everyone, because the challenge purges where it pays.
    [Theory]
    [InlineData("api1")]
    [InlineData("api2")]
    public void The_durable_profile_leaves_the_purge_to_an_operator(string instance)
    {
        var settings = new Dictionary<string, string>();
        foreach (var file in new[] { Challenge, Simulators, Durable })
            foreach (var (name, value) in file["services"]![instance]?["environment"]?.AsObject() ?? [])
                settings[name] = Text(value);

        Assert.Equal(
            ("Durable", "Operator"), (settings["Gateway__Storage__Profile"], settings["Gateway__Admin__Purge"]));
    }

    [Fact]
    public void The_example_of_settings_has_every_variable_with_its_default()
    {
        var files = new[] { "docker-compose.yml", "docker-compose.override.yml", "docker-compose.durable.yml" };
        var read = files.SelectMany(file => Variable.Matches(File.ReadAllText(Repository.PathOf(file))))
            .Select(match => $"#{match.Groups[1].Value}={match.Groups[2].Value}");

        Assert.Equal(
            read.Distinct().Order(StringComparer.Ordinal),
            File.ReadLines(Repository.PathOf(".env.example")).Where(line => line.Contains('='))
                .Order(StringComparer.Ordinal));
    }

    [Fact]
    public void Reconciliation_is_on_with_the_simulators_alone()
    {
        Assert.DoesNotContain("AdminToken", Challenge.ToJsonString(), StringComparison.Ordinal);
        foreach (var processor in new[] { "default", "fallback" })
            foreach (var instance in new[] { "api1", "api2" })
                Assert.Equal(
                    Text(Simulators["services"]![$"payment-processor-{processor}"]!["environment"]![
                        "Simulator__Token"]),
                    Text(Simulators["services"]![instance]!["environment"]!.AsObject().Single(one => one.Key.Equals(
                        $"Gateway__Processors__{processor}__AdminToken", StringComparison.OrdinalIgnoreCase)).Value));
    }

    [Theory]
    [InlineData("payment-processor-default", "0.05")]
    [InlineData("payment-processor-fallback", "0.15")]
    public void The_simulators_take_the_official_fees(string name, string fee) => Assert.Equal(
        fee, Text(Simulators["services"]![name]!["environment"]!["Simulator__FeePerTransaction"]));

    [Fact]
    public void The_connection_is_that_of_make_run_but_for_the_socket()
    {
        var native = SystemSettings.From([]).ConnectionString("/run/postgresql");

        Assert.Equal(
            new NpgsqlConnectionStringBuilder(native).ConnectionString,
            new NpgsqlConnectionStringBuilder(LedgerOf(Services["api1"]!)).ConnectionString);
    }

    /// <summary>The connection string of a service of the durable profile.</summary>
    public static string LedgerOfDurable(string service) =>
        LedgerOf(Durable["services"]![service] is { } own && own["image"] is not null ? own : Services[service]!);

    private static string LedgerOf(JsonNode service) => Text(service["environment"]!["ConnectionStrings__Ledger"]);

    // All values are texts; aliases and merge keys are followed.
    private static JsonNode Read(string file)
    {
        using var text = File.OpenText(Repository.PathOf(file));
        return JsonSerializer.SerializeToNode(
            new DeserializerBuilder().Build().Deserialize<object>(new MergingParser(new Parser(text))))!;
    }

    private static string Text(JsonNode? value) => value?.ToString() ?? "";

    private static JsonNode Mount(JsonNode service, string target) =>
        Assert.Single(service["volumes"]!.AsArray(), mount => Text(mount!["target"]) == target)!;

    private static TimeSpan GraceOf(string service) =>
        TimeSpan.FromSeconds(int.Parse(Text(Services[service]!["stop_grace_period"]).TrimEnd('s')));
}
