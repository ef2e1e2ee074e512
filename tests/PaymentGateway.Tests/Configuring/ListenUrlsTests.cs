using PaymentGateway.Configuring;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Configuring;

/// <summary>Where an instance listens, and where for an operator.</summary>
public sealed class ListenUrlsTests
{
    private const string Admin = "Gateway:Admin:Urls";

    [Fact]
    public void Without_the_setting_nothing_is_an_operators()
    {
        var urls = TestSettings.Read(("urls", "http://unix:/run/api1.sock")).Urls;

        Assert.Equal("http://unix:/run/api1.sock", urls.All);
        Assert.Empty(urls.Admin);
        Assert.Empty(urls.AdminOnly);
    }

    [Theory]
    [InlineData("http://unix:/run/admin.sock", "http://unix:/run/api1.sock;http://unix:/run/admin.sock")]
    [InlineData("http://127.0.0.1:9101", "http://unix:/run/api1.sock;http://127.0.0.1:9101")]
    public void A_listener_of_its_own_is_added(string admin, string all)
    {
        var urls = TestSettings.Read(("urls", "http://unix:/run/api1.sock"), (Admin, admin)).Urls;

        Assert.Equal(all, urls.All);
        Assert.Equal(urls.Admin, urls.AdminOnly);
        Assert.Single(urls.Admin);
    }

    [Theory]
    [InlineData("http://unix:/run/api1.sock")]
    [InlineData("http://0.0.0.0:8080")]
    public void One_that_both_settings_name_is_shared(string url)
    {
        var urls = TestSettings.Read(("urls", url), (Admin, url)).Urls;

        Assert.Equal(url, urls.All);
        Assert.Single(urls.Admin);
        Assert.Empty(urls.AdminOnly);
    }

    [Theory]
    [InlineData("http://0.0.0.0:8080", "nonsense")]
    [InlineData("http://0.0.0.0:8080", "https://127.0.0.1:9101")]
    [InlineData("http://0.0.0.0:8080", "127.0.0.1:9101")]
    [InlineData("http://0.0.0.0:8080", "http://127.0.0.1:8080")]
    [InlineData("http://0.0.0.0:8080", "http://127.0.0.1:9101;http://localhost:8080")]
    public void A_wrong_one_is_refused_by_name(string main, string admin)
    {
        var wrong = Assert.Throws<ConfigurationException>(() => TestSettings.Read(("urls", main), (Admin, admin)));

        Assert.StartsWith("Gateway__Admin__Urls: ", wrong.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', wrong.Message);
    }

    [Fact]
    public void An_operators_listener_alone_is_refused()
    {
        var wrong = Assert.Throws<ConfigurationException>(() => TestSettings.Read((Admin, "http://127.0.0.1:9101")));

        Assert.StartsWith("ASPNETCORE_URLS: ", wrong.Message, StringComparison.Ordinal);
    }
}
