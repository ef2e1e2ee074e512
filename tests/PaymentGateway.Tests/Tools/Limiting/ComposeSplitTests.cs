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
            deploy: { resources: { limits: { cpus: 0.2, memory: 20mb } } }
          api1:
            <<: *gateway
            hostname: api1
          api2:
            <<: *gateway
            deploy: { resources: { limits: { cpus: "0.25", memory: 0.1g } } }
          postgres:
            deploy: { resources: { limits: { cpus: '0.6', memory: "157286400" } } }
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
            () => ComposeSplit.Parse(new StringReader(File.Replace("memory: 20mb", "pids: 5"))));

        Assert.Equal("docker-compose.yml says no services.nginx.deploy.resources.limits.memory", refused.Message);
    }

    [Theory]
    [InlineData("20M", 20)]
    [InlineData("20MB", 20)]
    [InlineData("20mb", 20)]
    [InlineData("0.1g", 102)]
    [InlineData("1G", 1024)]
    [InlineData("2048k", 2)]
    [InlineData("20971520", 20)]
    [InlineData("20971520b", 20)]
    public void Sizes_are_read_as_compose_writes_them(string text, int megabytes) =>
        Assert.Equal(megabytes, ComposeSplit.Megabytes(text));

    [Theory]
    [InlineData("")]
    [InlineData("M")]
    [InlineData("20 apples")]
    public void A_text_that_is_no_size_is_refused(string text) =>
        Assert.Throws<ToolException>(() => ComposeSplit.Megabytes(text));

    [Fact]
    public void The_heap_may_have_three_quarters_of_the_container_as_the_runtime_takes_it() =>
        Assert.Equal("3fc0000", ComposeSplit.HeapLimit(new PartShare(0.35m, 85)));
}
