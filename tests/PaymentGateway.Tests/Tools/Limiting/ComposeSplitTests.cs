using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tests.Tools.Limiting;

/// <summary>The shares that are read from a compose file.</summary>
public sealed class ComposeSplitTests
{
    private const string File = """
        x-gateway: &gateway
          image: some
          deploy:
            resources:
              limits: { cpus: "0.35", memory: 80M }
              reservations: { cpus: "9" }
        services:
          nginx:
            deploy: { resources: { limits: { cpus: 0.2, memory: 20M } } }
          api1:
            <<: *gateway
            hostname: api1
          api2:
            <<: *gateway
            deploy: { resources: { limits: { cpus: "0.25", memory: 102M } } }
          postgres:
            deploy: { resources: { limits: { cpus: '0.6', memory: "150M" } } }
        """;

    [Fact]
    public void A_service_has_its_own_limits_or_those_that_it_takes_over()
    {
        var split = ComposeSplit.Parse(new StringReader(File));

        Assert.Equal(new PartShare(0.2m, 20), split["nginx"]);
        Assert.Equal(new PartShare(0.35m, 80), split["api1"]);
        Assert.Equal(new PartShare(0.25m, 102), split["api2"]);
        Assert.Equal(new PartShare(0.6m, 150), split["postgres"]);
    }

    [Fact]
    public void A_part_without_a_limit_is_named()
    {
        var refused = Assert.Throws<ToolException>(
            () => ComposeSplit.Parse(new StringReader(File.Replace("memory: 20M", "pids: 5"))));

        Assert.Equal("docker-compose.yml says no services.nginx.deploy.resources.limits.memory", refused.Message);
    }

    [Fact]
    public void The_heap_may_have_three_quarters_of_the_container_as_the_runtime_takes_it() =>
        Assert.Equal("3fc0000", ComposeSplit.HeapLimit(new PartShare(0.35m, 85)));
}
