using Microsoft.Extensions.Configuration;
using ProcessorSimulator;

namespace PaymentGateway.Tests.Compose;

/// <summary>The environment in the compose files: the programs know every name, and the addresses meet.</summary>
public sealed class ComposeSettingsTests
{
    private const string Urls = "ASPNETCORE_URLS";
    private const string Ledger = "ConnectionStrings__Ledger";

    // What the runtime reads and not the gateway; `make run` sets the same.
    private const string Processors = "DOTNET_PROCESSOR_COUNT";
    private const string YoungMax = "DOTNET_GCGen0MaxBudget";

    private static readonly string[] Instances = ["api1", "api2"];

    [Fact]
    public void The_gateway_reads_its_environment_and_knows_every_name_in_it()
    {
        foreach (var project in ComposeProject.All)
            foreach (var instance in Instances.Select(name => project[name]))
            {
                var options = GatewayOptions.Read(Configuration(instance));

                Assert.Equal(instance.Name, options.Instance.Name);
                Assert.Equal(project == ComposeProject.Durable, options.Ledger.Durable);
                // The challenge purges by the same way, and nothing else of an operator's is answered there.
                Assert.Equal((Purger.Everyone, 1), (options.Operators.Purger, options.Instance.Urls.AdminOnly.Count));
                Assert.All(instance.Environment.Keys, name => Assert.True(
                    name is Urls or Ledger or Processors or YoungMax
                    || name.StartsWith("Gateway__", StringComparison.Ordinal), name));
            }
    }

    [Fact]
    public void The_simulators_know_their_settings_and_take_the_official_fees()
    {
        var known = File.ReadAllText(Repository.PathOf("src", "ProcessorSimulator", "SimulatorOptions.cs"));
        foreach (var (name, fee) in new[]
        {
            ("payment-processor-default", 0.05m), ("payment-processor-fallback", 0.15m),
        })
        {
            var simulator = ComposeProject.WithSimulators[name];
            Assert.Equal(fee, SimulatorOptions.Read(Configuration(simulator)).FeePerTransaction);
            Assert.All(simulator.Environment.Keys, key => Assert.Contains($"\"{key.Replace("__", ":")}\"", known));
        }
    }

    [Fact]
    public void The_processors_addresses_are_the_official_ones_and_the_simulators_listen_there()
    {
        var options = GatewayOptions.Read(Configuration(ComposeProject.Challenge["api1"]));
        Assert.Equal("http://payment-processor-default:8080/", options.Processors.Default.Url.AbsoluteUri);
        Assert.Equal("http://payment-processor-fallback:8080/", options.Processors.Fallback.Url.AbsoluteUri);

        var services = ComposeProject.WithSimulators.Services.Select(one => one.Name).ToList();
        Assert.Contains(options.Processors.Default.Url.Host, services);
        Assert.Contains(options.Processors.Fallback.Url.Host, services);
        Assert.Equal(
            "ASPNETCORE_URLS=http://0.0.0.0:8080", DockerfileText.OfRepository["simulator"].All("ENV").Single());
    }

    [Fact]
    public void The_connection_is_that_of_make_run_but_for_the_socket()
    {
        var native = SystemSettings.From([]).ConnectionString("/nowhere");
        var ours = new NpgsqlConnectionStringBuilder(ComposeProject.Challenge["api1"].Environment[Ledger]);
        var theirs = new NpgsqlConnectionStringBuilder(native);

        Assert.Equal(ComposeProject.Challenge["api1"].MountOf("postgres-socket").Target, ours.Host);
        ours.Host = theirs.Host;
        Assert.Equal(theirs.ConnectionString, ours.ConnectionString);
        Assert.True(ours.Multiplexing);
    }

    private static IConfiguration Configuration(ComposeService service) => new ConfigurationBuilder()
        .AddInMemoryCollection(service.Environment.Select(pair =>
            KeyValuePair.Create<string, string?>(
                // As the host names it.
                pair.Key == Urls ? "urls" : pair.Key.Replace("__", ":", StringComparison.Ordinal), pair.Value)))
        .Build();
}
