using PaymentGateway.Hosting;

namespace PaymentGateway.Tests.Hosting;

public sealed class UnverifiedHostTests
{
    [Theory]
    [InlineData("Host=db.example;Username=gateway", "db.example")]
    [InlineData("Host=10.0.0.5;SSL Mode=Require", "10.0.0.5")]
    [InlineData("Host=db.example;SSL Mode=VerifyCA", "db.example")]
    [InlineData("Host=127.0.0.1,db2:5433", "db2:5433")]
    [InlineData("Host=db1, db2;SSL Mode=VerifyFull", null)]
    [InlineData("Host=/run/postgresql", null)]
    [InlineData("Host=@abstract", null)]
    [InlineData("Host=localhost:5433", null)]
    [InlineData("Host=127.0.0.1:5433", null)]
    [InlineData("Host=::1", null)]
    public void A_network_to_PostgreSQL_is_warned_of_unless_its_certificate_is_checked(string said, string? host) =>
        Assert.Equal(host, GatewayApp.UnverifiedHost(said));
}
