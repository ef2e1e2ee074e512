using Microsoft.Extensions.Configuration;
using ProcessorSimulator;

namespace PaymentGateway.Tests.Simulating;

public sealed class SimulatorOptionsTests
{
    [Fact]
    public void Every_setting_is_read_and_without_any_the_simulator_is_the_default_processor()
    {
        Assert.Equal(new SimulatorOptions(0.05m, "123", 0, false, 5_000_000), Read([]));
        var options = Read(new()
        {
            ["Simulator:FeePerTransaction"] = "0.15",
            ["Simulator:Token"] = "456",
            ["Simulator:Delay"] = "2000",
            ["Simulator:Failing"] = "true",
            ["Simulator:MaxPayments"] = "7",
        });

        Assert.Equal(new SimulatorOptions(0.15m, "456", 2000, true, 7), options);
    }

    [Theory]
    [InlineData("Simulator:FeePerTransaction", "5%", "Simulator__FeePerTransaction")]
    [InlineData("Simulator:FeePerTransaction", "-0.05", "Simulator__FeePerTransaction")]
    [InlineData("Simulator:FeePerTransaction", "1.01", "Simulator__FeePerTransaction")]
    [InlineData("Simulator:Token", "", "Simulator__Token")]
    [InlineData("Simulator:Delay", "-1", "Simulator__Delay")]
    [InlineData("Simulator:Delay", "1s", "Simulator__Delay")]
    [InlineData("Simulator:Failing", "maybe", "Simulator__Failing")]
    [InlineData("Simulator:MaxPayments", "0", "Simulator__MaxPayments")]
    [InlineData("Simulator:MaxPayments", "5e6", "Simulator__MaxPayments")]
    [InlineData("urls", "nonsense", "ASPNETCORE_URLS")]
    [InlineData("urls", "http://0.0.0.0:8080;https://0.0.0.0:8443", "ASPNETCORE_URLS")]
    [InlineData("urls", "http://0.0.0.0:65536", "ASPNETCORE_URLS")]
    public void A_wrong_value_is_named_in_one_line(string key, string value, string named)
    {
        var wrong = Assert.Throws<WrongSettingException>(() => Read(new() { [key] = value }));

        Assert.StartsWith($"{named}: '{value}' is not ", wrong.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', wrong.Message);
    }

    private static SimulatorOptions Read(Dictionary<string, string?> settings) =>
        SimulatorOptions.Read(new ConfigurationBuilder().AddInMemoryCollection(settings).Build());
}
