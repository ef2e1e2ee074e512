using PaymentGateway.Hosting;

namespace PaymentGateway.Tests.Hosting.Configuration;

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

    [Fact]
    public void A_file_that_has_the_name_of_a_setting_wins_over_appsettings_and_arguments_win_over_it()
    {
        File.WriteAllText(
            Path.Combine(_folder, "appsettings.json"),
            """{ "Gateway": { "Instance": { "Name": "appsettings" }, "Intake": { "Linger": "1ms" } } }""");
        var secrets = SecretsOf(("Gateway__Instance__Name", "file"), ("GATEWAY__INTAKE__LINGER", "2ms\n"));

        var settings = HostSetup.ReadSettings(
            [$"--contentRoot={_folder}", secrets, "--Gateway:Instance:Name=argument"]);

        Assert.Equal(
            ("argument", "2ms"), (settings["Gateway:Instance:Name"], settings["Gateway:Intake:Linger"]));
    }

    [Fact]
    public void A_file_whose_name_is_a_misspelt_setting_is_refused()
    {
        var secrets = SecretsOf(("Gateway__Admin__Tokn", "secret"), ("another-program-s-secret", "any"));

        var wrong = Assert.Throws<ConfigurationException>(() => GatewayApp.Create(
            [secrets, .. TestSettings.Required.Select(setting => $"--{setting.Key}={setting.Value}")]));

        Assert.StartsWith("Gateway__Admin__Tokn: ", wrong.Message, StringComparison.Ordinal);
    }

    private string SecretsOf(params (string Name, string Text)[] files)
    {
        var directory = Directory.CreateDirectory(Path.Combine(_folder, "secrets")).FullName;
        foreach (var (name, text) in files)
            File.WriteAllText(Path.Combine(directory, name), text);
        return $"--Gateway:Secrets:Directory={directory}";
    }
}
