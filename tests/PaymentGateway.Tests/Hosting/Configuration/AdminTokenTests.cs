namespace PaymentGateway.Tests.Hosting.Configuration;

public sealed class AdminTokenTests
{
    private const string Single = "Gateway:Admin:Token";
    private const string Named = "Gateway:Admin:Tokens:bob:Token";
    private const string Secret = "0b7c1f6e5a4d3928";

    [Fact]
    public void A_named_token_has_the_role_Read_unless_it_names_one_and_the_single_one_has_every_role()
    {
        var tokens = TestSettings.Read(
            (Single, "a"), (Named, "b"), ("Gateway:Admin:Tokens:alice:Token", "c"),
            ("Gateway:Admin:Tokens:alice:Role", "operate")).Operators.Tokens;

        Assert.Equal(
            ["admin Purge a", "alice Operate c", "bob Read b"],
            tokens.Select(token => $"{token.Name} {token.Role} {token.Secret}").Order());
    }

    [Theory]
    [InlineData("Gateway:Admin:Tokens:alice:Role", "Operate", "Gateway__Admin__Tokens__alice__Token: is required")]
    [InlineData("Gateway:Admin:Tokens:alice:Token", "", "Gateway__Admin__Tokens__alice__Token: is required")]
    [InlineData("Gateway:Admin:Tokens:alice", "x", "Gateway__Admin__Tokens__alice__Token: is required")]
    [InlineData("Gateway:Admin:Tokens:bob:Role", "Owner", "Gateway__Admin__Tokens__bob__Role: 'Owner' is none of")]
    [InlineData("Gateway:Admin:Tokens:bob:Rolle", "Read", "Gateway__Admin__Tokens__bob__Rolle: is no setting")]
    [InlineData(Single, "b", "Gateway__Admin__Tokens__bob__Token: has the value of another token")]
    public void A_wrong_token_is_refused_in_one_line_that_names_the_setting(string key, string value, string line) =>
        TestSettings.AssertRefused(line, (Named, "b"), (key, value));

    [Theory]
    [InlineData("http://0.0.0.0:8080", "http://127.0.0.1:9101")]
    [InlineData("http://unix:/run/api1.sock", "http://10.0.0.11:9101")]
    public void A_short_token_is_refused_where_other_hosts_reach_a_listener(string urls, string admin)
    {
        foreach (var key in new[] { Single, Named })
        {
            TestSettings.AssertRefused(
                key.Replace(":", "__", StringComparison.Ordinal) + ": has fewer than 16 characters",
                ("urls", urls), ("Gateway:Admin:Urls", admin), (key, Secret[..15]));
            Assert.Single(ReadAt(urls, admin, key, Secret).Operators.Tokens);
        }
    }

    [Theory]
    [InlineData("http://unix:/run/api1.sock", "http://127.0.0.1:9101")]
    [InlineData("http://localhost:8080", "http://[::1]:9101")]
    public void A_short_token_is_taken_on_sockets_and_loopback_addresses(string urls, string admin) =>
        Assert.Single(ReadAt(urls, admin, Named, "b").Operators.Tokens);

    private static GatewayOptions ReadAt(string urls, string admin, string key, string secret) =>
        TestSettings.Read(("urls", urls), ("Gateway:Admin:Urls", admin), (key, secret));
}
