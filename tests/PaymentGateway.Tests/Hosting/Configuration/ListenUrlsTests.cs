namespace PaymentGateway.Tests.Hosting.Configuration;

public sealed class ListenUrlsTests
{
    private const string Admin = "Gateway:Admin:Urls";
    private const string Token = "Gateway:Admin:Token";
    private const string Main = "http://unix:/run/api1.sock";
    private const string Secret = "0b7c1f6e5a4d3928";

    [Fact]
    public void Without_the_setting_nothing_is_an_operators()
    {
        var urls = TestSettings.Read(("urls", "http://unix:/run/api1.sock")).Instance.Urls;

        Assert.Equal("http://unix:/run/api1.sock", urls.All);
        Assert.Empty(urls.Operators);
        Assert.Empty(urls.AdminOnly);
    }

    [Theory]
    [InlineData("http://unix:/run/admin.sock", "http://unix:/run/api1.sock;http://unix:/run/admin.sock")]
    [InlineData("http://127.0.0.1:9101", "http://unix:/run/api1.sock;http://127.0.0.1:9101")]
    public void A_listener_of_its_own_is_added(string admin, string all)
    {
        var urls = TestSettings.Read(("urls", "http://unix:/run/api1.sock"), (Admin, admin)).Instance.Urls;

        Assert.Equal(all, urls.All);
        Assert.Equal(urls.Operators, urls.AdminOnly);
        Assert.Single(urls.Operators);
    }

    [Theory]
    [InlineData("http://unix:/run/api1.sock")]
    [InlineData("http://0.0.0.0:8080")]
    public void One_that_both_settings_name_is_shared(string url)
    {
        var urls = TestSettings.Read(("urls", url), (Admin, url), (Token, Secret)).Instance.Urls;

        Assert.Equal(url, urls.All);
        Assert.Single(urls.Operators);
        Assert.Empty(urls.AdminOnly);
    }

    [Theory]
    [InlineData("http://0.0.0.0:8080", "nonsense")]
    [InlineData("http://0.0.0.0:8080", "https://127.0.0.1:9101")]
    [InlineData("http://0.0.0.0:8080", "127.0.0.1:9101")]
    [InlineData("http://0.0.0.0:8080", "http://127.0.0.1:8080")]
    [InlineData("http://0.0.0.0:8080", "http://127.0.0.1:9101;http://localhost:8080")]
    public void A_wrong_one_is_refused_by_name(string main, string admin) =>
        TestSettings.AssertRefused("Gateway__Admin__Urls: ", ("urls", main), (Admin, admin));

    [Theory]
    [InlineData("http://0.0.0.0:9101")]
    [InlineData("http://[::]:9101")]
    [InlineData("http://*:9101")]
    [InlineData("http://10.0.0.11:9101")]
    [InlineData("http://gateway.example:9101")]
    [InlineData("http://127.0.0.1:9101;http://0.0.0.0:9102")]
    public void A_port_that_other_hosts_reach_requires_a_token_or_the_setting(string admin)
    {
        var line = TestSettings.AssertRefused("Gateway__Admin__Urls: ", ("urls", Main), (Admin, admin));

        Assert.Contains("Gateway__Admin__WithoutToken=Anywhere", line, StringComparison.Ordinal);
        TestSettings.Read(("urls", Main), (Admin, admin), (Token, Secret));
        TestSettings.Read(("urls", Main), (Admin, admin), ("Gateway:Admin:WithoutToken", "Anywhere"));
    }

    [Theory]
    [InlineData("http://localhost:9101")]
    [InlineData("http://127.0.0.2:9101")]
    [InlineData("http://[::1]:9101")]
    public void A_port_of_this_host_alone_requires_no_token(string admin) =>
        Assert.Single(TestSettings.Read(("urls", Main), (Admin, admin)).Instance.Urls.Operators);

    [Fact]
    public void An_operators_listener_alone_is_refused() =>
        TestSettings.AssertRefused("ASPNETCORE_URLS: ", (Admin, "http://127.0.0.1:9101"));
}
