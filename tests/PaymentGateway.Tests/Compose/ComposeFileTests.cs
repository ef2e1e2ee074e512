using Json.Schema;

namespace PaymentGateway.Tests.Compose;

/// <summary>What can be known of the compose files without an engine: form, names, how little each may.</summary>
public sealed partial class ComposeFileTests
{
    private static readonly string[] Ours = ["nginx", "api1", "api2", "postgres"];

    // The draft has this name, and the file another one.
    private static readonly JsonSchema Schema = JsonSchema.FromText(
        File.ReadAllText(Repository.PathOf("tests", "PaymentGateway.Tests", "Compose", "compose-spec.json")).Replace(
            "https://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#",
            StringComparison.Ordinal));

    [Fact]
    public void Every_file_and_every_project_is_valid_by_the_compose_specification()
    {
        var files = Directory.GetFiles(Repository.Root, "docker-compose*.yml").Select(Path.GetFileName).Order();
        Assert.Equal(["docker-compose.durable.yml", "docker-compose.override.yml", ComposeProject.Main], files);

        foreach (var file in files)
            Assert.True(IsValid(ComposeProject.Read(file!)), file);
        foreach (var project in ComposeProject.All)
            Assert.True(IsValid(project.Root));
    }

    [Theory]
    [InlineData("services.nginx.memory: 20M", "additional")]
    [InlineData("services.nginx.read_only: 7", "type")]
    [InlineData("services.nginx.depends_on.api1.condition: service_well", "enum, in a oneOf")]
    [InlineData("services.nginx.cap_drop: [\"ALL\",\"ALL\"]", "uniqueItems")]
    [InlineData("services.nginx.pull_policy: sometimes", "pattern")]
    [InlineData("services.nginx.oom_score_adj: 1001", "maximum")]
    [InlineData("services.nginx.build: {\"context\":\".\",\"tragets\":1}", "additional, in a oneOf behind a $ref")]
    [InlineData("services.ng+nx: {}", "patternProperties")]
    [InlineData("service: {}", "additional, at the top")]
    public void A_wrong_file_is_invalid_by_the_compose_specification(string wrong, string rule)
    {
        var root = ComposeProject.Challenge.Root.DeepClone().AsObject();
        var (path, value) = (wrong.Split(": ")[0].Split('.'), wrong.Split(": ")[1]);
        var at = path[..^1].Aggregate(root, (node, key) => node[key]!.AsObject());
        at[path[^1]] = char.IsAsciiLetterOrDigit(value[^1]) && !int.TryParse(value, out _)
            ? value
            : JsonNode.Parse(value);

        Assert.False(IsValid(root), $"{wrong} was not seen ({rule})");
    }

    [Fact]
    public void The_challenge_file_has_the_four_services_and_the_override_adds_two_simulators()
    {
        Assert.Equal(Ours, ComposeProject.Challenge.Services.Select(service => service.Name));
        Assert.Equal(
            [.. Ours, "payment-processor-default", "payment-processor-fallback"],
            ComposeProject.WithSimulators.Services.Select(service => service.Name));
    }

    [Fact]
    public void Networks_are_bridges_and_the_processors_own_one_is_joined_by_the_instances_alone()
    {
        var challenge = ComposeProject.Challenge;
        Assert.Equal("bridge", challenge.Find("networks", "backend")!["driver"]!.ToString());
        Assert.True(challenge.Find("networks", "payment-processor")!["external"]!.GetValue<bool>());
        Assert.Equal("payment-processor", challenge.Find("networks", "payment-processor")!["name"]!.ToString());
        var own = ComposeProject.WithSimulators.Find("networks", "payment-processor")!;
        Assert.False(own["external"]!.GetValue<bool>());
        Assert.Equal("bridge", own["driver"]!.ToString());
        Assert.NotEqual("payment-processor", own["name"]!.ToString());

        foreach (var service in ComposeProject.WithSimulators.Services)
        {
            Assert.Null(service.Node["network_mode"]);
            Assert.Equal(service.Name is not ("nginx" or "postgres"), service.Networks.Contains("payment-processor"));
            Assert.Equal(Ours.Contains(service.Name), service.Networks.Contains("backend"));
        }

        // The network reaches the payments alone; the ports of an operator and of the simulators are this machine's.
        Assert.Equal(
            [
                ("api1", "127.0.0.1:9101:9101"), ("api2", "127.0.0.1:9102:9101"), ("nginx", "9999:9999"),
                ("payment-processor-default", "127.0.0.1:8001:8080"),
                ("payment-processor-fallback", "127.0.0.1:8002:8080"),
            ],
            ComposeProject.WithSimulators.Services.SelectMany(one => (one.Node["ports"]?.AsArray() ?? [])
                .Select(port => (one.Name, Port: port!.ToString()))).Order());
    }

    [Fact]
    public void No_service_has_more_rights_than_it_needs()
    {
        foreach (var service in ComposeProject.Durable.Services)
        {
            Assert.True(service.Node["read_only"]?.GetValue<bool>() == true, $"{service.Name} can write to its root");
            Assert.Equal("""["ALL"]""", service.Node["cap_drop"]!.ToJsonString());
            Assert.Equal("""["no-new-privileges:true"]""", service.Node["security_opt"]!.ToJsonString());
            Assert.Matches("^[1-9][0-9]*:[1-9][0-9]*$", service.User);
            foreach (var key in new[] { "privileged", "cap_add", "pid", "ipc", "devices", "scale" })
                Assert.Null(service.Node[key]);
            Assert.Null(service.Node["deploy"]!["replicas"]);
            Assert.Equal("linux/amd64", service.Text("platform"));
            Assert.Matches(FixedTag(), service.Text("image"));
            Assert.All(service.Mounts, mount => Assert.True(mount.IsReadOnly || mount.Type != "bind", mount.Source));
            Assert.Matches("^[0-9]m$", service.Node["logging"]!["options"]!["max-size"]!.ToString());
            Assert.Matches("^[0-9]$", service.Node["logging"]!["options"]!["max-file"]!.ToString());
        }
    }

    [Fact]
    public void Each_service_waits_until_its_dependencies_are_healthy_and_each_of_these_has_a_health_check()
    {
        var challenge = ComposeProject.Challenge;
        Assert.Equal(["api1", "api2"], challenge["nginx"].DependsOn.Keys.Order());
        Assert.Equal(["postgres"], challenge["api1"].DependsOn.Keys);
        Assert.Equal(["postgres"], challenge["api2"].DependsOn.Keys);
        foreach (var service in challenge.Services)
        {
            Assert.All(service.DependsOn.Values, condition => Assert.Equal("service_healthy", condition));
            var image = service.Node["build"]?["target"]?.ToString() is { } target
                ? DockerfileText.OfRepository.Last(target, "HEALTHCHECK")
                : null;
            Assert.True(service.Node["healthcheck"]?["test"] is not null || image is not null, service.Name);
        }
    }

    [Fact]
    public void Each_service_restarts_by_itself_and_no_image_switches_its_health_check_off()
    {
        // With on-failure a clean stop, as that of the host, would be for good.
        Assert.All(ComposeProject.Durable.Services, one => Assert.Equal(
            one.Name == "migrate" ? "no" : "unless-stopped", one.Text("restart")));
        // `up --wait` ends with 1 for a container whose check is NONE.
        Assert.DoesNotContain(
            DockerfileText.OfRepository.Stages.SelectMany(stage => stage.All("HEALTHCHECK")), text => text == "NONE");
    }

    [Fact]
    public void A_stop_goes_from_the_entry_point_inwards_and_leaves_each_service_its_time()
    {
        Assert.Equal(
            ["nginx", "api1 api2", "postgres"],
            ComposeProject.Challenge.StopOrder().Select(step => string.Join(' ', step.Select(one => one.Name))));
        // The simulators after the instances, whose charges end there.
        Assert.Equal(
            ["nginx", "api1 api2"],
            ComposeProject.WithSimulators.StopOrder().Take(2)
                .Select(step => string.Join(' ', step.Select(one => one.Name))));

        var challenge = ComposeProject.Challenge;
        var drain = TestSettings.Read().Settling.DrainTimeout;
        var hostMargin = TimeSpan.FromSeconds(5);
        var workerShutdown = WorkerShutdown().Match(File.ReadAllText(Repository.PathOf("nginx", "nginx.conf")));
        Assert.True(challenge["api1"].StopGrace > drain + hostMargin);
        Assert.True(challenge["api2"].StopGrace > drain + hostMargin);
        Assert.True(challenge["nginx"].StopGrace > TimeSpan.FromSeconds(int.Parse(workerShutdown.Groups[1].Value)));
        Assert.True(challenge["postgres"].StopGrace >= TimeSpan.FromSeconds(30));
    }

    [Fact]
    public void Sockets_and_writable_paths_belong_to_the_services_that_write_them()
    {
        var project = ComposeProject.Challenge;
        Assert.Contains(Owner(project["api1"]), VolumeOptions(project, "gateway-sockets"));
        Assert.Equal(project["api1"].User, project["api2"].User);
        Assert.Contains(Owner(project["postgres"]), VolumeOptions(project, "postgres-socket"));
        Assert.Contains(Owner(project["nginx"]), project["nginx"].Tmpfs["/run/nginx"]);
        // nginx connects and makes nothing there; it has no way to the database at all.
        Assert.True(project["nginx"].MountOf("gateway-sockets").IsReadOnly);
        Assert.DoesNotContain(project["nginx"].Mounts, mount => mount.Source == "postgres-socket");
        Assert.DoesNotContain(project["postgres"].Mounts, mount => mount.Source == "gateway-sockets");
        Assert.Equal(project["api1"].User, DockerfileText.OfRepository.Last("gateway", "USER"));
    }

    [Fact]
    public void The_durable_profile_has_data_files_of_its_own_and_the_same_configuration()
    {
        var (usual, durable) = (ComposeProject.WithSimulators["postgres"], ComposeProject.Durable["postgres"]);
        var data = durable.Mounts.Single(mount => mount.Target == "/var/lib/postgresql/data").Source;

        Assert.NotEqual(usual.Mounts.Single(mount => mount.Target == "/var/lib/postgresql/data").Source, data);
        Assert.Equal("./postgres/durable.conf", Added(durable, usual, "/etc/postgresql/durable.conf").Source);
        Assert.Equal(usual.Command, durable.Command);
    }

    private static bool IsValid(JsonNode file) => Schema.Evaluate(JsonSerializer.SerializeToElement(file)).IsValid;

    private static ComposeMount Added(ComposeService more, ComposeService less, string target)
    {
        Assert.DoesNotContain(less.Mounts, mount => mount.Target == target);
        return more.Mounts.Single(mount => mount.Target == target);
    }

    private static string VolumeOptions(ComposeProject project, string volume)
    {
        var options = project.Find("volumes", volume)!["driver_opts"]!;
        Assert.Equal(("tmpfs", "tmpfs"), (options["type"]!.ToString(), options["device"]!.ToString()));
        return options["o"]!.ToString();
    }

    private static string Owner(ComposeService service) =>
        $"uid={service.User.Split(':')[0]},gid={service.User.Split(':')[1]}";

    // A version down to the patch, or an image of ours that is built here.
    [GeneratedRegex(@"^[a-z-]+:([0-9]+\.[0-9]+(\.[0-9]+)?-[a-z-]+|local)$")]
    private static partial Regex FixedTag();

    [GeneratedRegex(@"worker_shutdown_timeout ([0-9]+)s;")]
    private static partial Regex WorkerShutdown();
}
