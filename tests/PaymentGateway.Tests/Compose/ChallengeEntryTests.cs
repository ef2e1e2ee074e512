using YamlDotNet.Core;
using YamlDotNet.Serialization;

namespace PaymentGateway.Tests.Compose;

/// <summary>The written entry keeps the challenge's rules (docs/contract.md) and needs nothing beside itself.</summary>
public sealed class ChallengeEntryTests : IAsyncLifetime
{
    private const string Source = "https://example.org/payments";

    private static readonly string[] Forbidden = ["build", "privileged", "scale", "network_mode", "extends"];
    private static readonly Regex Megabytes = new("^([0-9]+)M$");

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("payment-gateway-entry");
    private string _compose = "";
    private JsonObject _services = [];
    private JsonNode _networks = new JsonObject();

    public async Task InitializeAsync()
    {
        var written = await WriteAsync(_folder.FullName, "somebody/payment-gateway:1.0.0", Source);
        Assert.True(written.Succeeded, written.Errors);
        _compose = await File.ReadAllTextAsync(Path.Combine(_folder.FullName, "docker-compose.yml"));
        using var text = new StringReader(_compose);
        var file = JsonSerializer.SerializeToNode(
            new DeserializerBuilder().Build().Deserialize<object>(new MergingParser(new Parser(text))))!;
        (_services, _networks) = (file["services"]!.AsObject(), file["networks"]!);
    }

    public Task DisposeAsync()
    {
        _folder.Delete(recursive: true);
        return Task.CompletedTask;
    }

    [Fact]
    public void All_services_have_1_5_CPU_and_350_MB_together()
    {
        var limits = _services.Select(one => one.Value!["deploy"]!["resources"]!["limits"]!).ToList();

        Assert.InRange(limits.Sum(one => decimal.Parse($"{one["cpus"]}", CultureInfo.InvariantCulture)), 0.1m, 1.5m);
        Assert.InRange(limits.Sum(one => int.Parse(Megabytes.Match($"{one["memory"]}").Groups[1].Value)), 1, 350);
    }

    [Fact]
    public void Every_service_is_a_public_image_for_linux_amd64_without_build_privileges_or_replicas()
    {
        Assert.DoesNotContain("${", _compose, StringComparison.Ordinal);
        Assert.Equal("somebody/payment-gateway:1.0.0", $"{_services["api1"]!["image"]}");
        Assert.All(_services, one =>
        {
            Assert.Matches(@"^[a-z/.-]+:[0-9][a-z0-9.-]+$", $"{one.Value!["image"]}");
            Assert.Equal("linux/amd64", $"{one.Value["platform"]}");
            Assert.Empty(one.Value.AsObject().Select(member => member.Key).Intersect(Forbidden));
            Assert.Null(one.Value["deploy"]!["replicas"]);
        });
    }

    [Fact]
    public void Two_instances_on_the_processors_network_are_behind_one_balancer_at_port_9999()
    {
        Assert.Equal(["9999:9999"], _services["nginx"]!["ports"]!.AsArray().Select(one => $"{one}"));
        Assert.Equal(["api1", "api2"], _services.Select(one => one.Key).Intersect(["api1", "api2"]));
        foreach (var processor in new[] { "default", "fallback" })
            foreach (var instance in new[] { "api1", "api2" })
            {
                Assert.Contains(
                    "payment-processor", _services[instance]!["networks"]!.AsArray().Select(one => $"{one}"));
                Assert.Equal(
                    $"http://payment-processor-{processor}:8080",
                    $"{_services[instance]!["environment"]!.AsObject().Single(one => one.Key.Equals(
                        $"Gateway__Processors__{processor}__BaseUrl", StringComparison.OrdinalIgnoreCase)).Value}");
            }

        Assert.Equal(
            ("bridge", "payment-processor", "true"),
            ($"{_networks["backend"]!["driver"]}", $"{_networks["payment-processor"]!["name"]}",
                $"{_networks["payment-processor"]!["external"]}"));
        // No call of a processor's administrator.
        Assert.DoesNotContain("AdminToken", _compose, StringComparison.Ordinal);
    }

    [Fact]
    public void The_folder_has_the_mounted_files_and_the_three_of_the_organisers_and_nothing_else()
    {
        var mounted = _services.SelectMany(one => one.Value!["volumes"]?.AsArray() ?? [])
            .Where(mount => $"{mount!["type"]}" == "bind").Select(mount => $"{mount!["source"]}"[2..]).ToList();

        var files = _folder.EnumerateFiles("*", SearchOption.AllDirectories)
            .Select(file => Path.GetRelativePath(_folder.FullName, file.FullName));

        Assert.Contains("nginx/nginx.conf", mounted);
        Assert.Equal(mounted.Concat(["README.md", "docker-compose.yml", "info.json"]).Order(), files.Order());
        Assert.All(mounted, file => Assert.Equal(
            File.ReadAllText(Repository.PathOf(file)), File.ReadAllText(Path.Combine(_folder.FullName, file))));
    }

    [Fact]
    public void Technologies_and_source_are_named()
    {
        var info = JsonNode.Parse(Read("info.json"))!.AsObject();

        Assert.Equal(
            ["name", "social", "source-code-repo", "langs", "storages", "messaging", "load-balancers",
                "other-technologies"],
            info.Select(one => one.Key));
        Assert.Equal(Source, $"{info["source-code-repo"]}");
        foreach (var named in new[] { Source, "C#", "PostgreSQL", "nginx" })
            Assert.Contains(named, Read("README.md"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Without_a_public_image_or_a_source_nothing_is_written()
    {
        var nowhere = Path.Combine(_folder.FullName, "none");

        Assert.False((await WriteAsync(nowhere, null, Source)).Succeeded);
        Assert.False((await WriteAsync(nowhere, "x/y:1", null)).Succeeded);
        Assert.False(Directory.Exists(nowhere));
    }

    private string Read(string name) => File.ReadAllText(Path.Combine(_folder.FullName, name));

    private static Task<ShellResult> WriteAsync(string folder, string? image, string? source) => Shell.RunAsync(
        [Repository.PathOf("eng", "rinha-entry"), folder],
        variables: new Dictionary<string, string?> { ["GATEWAY_IMAGE"] = image, ["SOURCE"] = source });
}
