using PaymentGateway.Configuring;
using PaymentGateway.Hosting;

namespace PaymentGateway.Tests.Configuring;

/// <summary>Settings that come from files.</summary>
public sealed class SettingsFileTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("payment-gateway-tests.").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData("{ \"Gateway\": ")]
    [InlineData("[]")]
    public void Malformed_appsettings_are_refused_in_one_line_that_names_the_file(string text)
    {
        File.WriteAllText(Path.Combine(_folder, "appsettings.json"), text);

        var wrong = Assert.Throws<ConfigurationException>(() => GatewayApp.Create([$"--contentRoot={_folder}"]));

        Assert.StartsWith("appsettings.json: ", wrong.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', wrong.Message);
    }
}
