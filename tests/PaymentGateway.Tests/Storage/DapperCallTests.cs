using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;

namespace PaymentGateway.Tests.Storage;

/// <summary>
/// Dapper without Dapper.AOT makes its readers by reflection, which a native binary cannot. The compiler replaces each
/// call that Dapper.AOT takes over, so one that is left is a reference in the compiled gateway.
/// </summary>
public sealed class DapperCallTests(TestDatabase database) : IClassFixture<TestDatabase>
{
    [Fact]
    public void No_call_of_Dapper_is_left_to_reflection()
    {
        using var file = new PEReader(File.OpenRead(typeof(PaymentStore).Assembly.Location));
        var gateway = file.GetMetadataReader();

        var left = gateway.MemberReferences.Select(gateway.GetMemberReference)
            .Where(member => TypeOf(gateway, member) == ("Dapper", "SqlMapper"))
            .Select(member => gateway.GetString(member.Name));

        // A cast of the list that a query gives, and an array put into a parameter: no reflection in either.
        Assert.Equal(["AsList", "PackListParameters"], left.Order());
    }

    [Fact]
    public void Every_factory_of_Dapper_AOT_makes_limited_commands()
    {
        var factories = typeof(PaymentStore).Assembly.GetTypes()
            .Where(type => type.IsSubclassOf(typeof(Dapper.CommandFactory)) && type != typeof(LimitedCommands<>))
            .ToList();

        Assert.InRange(factories.Count, 20, int.MaxValue);
        Assert.All(factories, type => Assert.Equal(
            typeof(LimitedCommands<>), type.BaseType!.GetGenericTypeDefinition()));
    }

    // The server's own limit is off, and the caller waits for longer.
    [PostgresTheory]
    [InlineData("a query")]
    [InlineData("a query with arguments")]
    [InlineData("a command with arguments")]
    public async Task A_statement_ends_at_the_limit_of_its_connection(string kind)
    {
        var pool = LedgerSetup.DataSource(
            $"{database.ConnectionString};Command Timeout=1;Options=-c statement_timeout=0");
        await using var shared = new SharedConnections(pool, TimeSpan.FromMinutes(1), TimeProvider.System);
        var webhooks = new WebhookStore(shared);
        await using var held = await database.HoldAsync("LOCK TABLE webhooks");

        var failed = await Assert.ThrowsAsync<NpgsqlException>(() => kind switch
        {
            "a query" => webhooks.ListAsync(),
            "a query with arguments" => webhooks.TakeAsync(new WebhookArgs("shop", "one", TimeSpan.FromSeconds(1))),
            _ => webhooks.AddAsync("shop"),
        }).WaitAsync(TimeSpan.FromSeconds(20));

        Assert.IsType<TimeoutException>(failed.InnerException);
    }

    private static (string Namespace, string Name)? TypeOf(MetadataReader reader, MemberReference member)
    {
        if (member.Parent.Kind != HandleKind.TypeReference)
            return null;

        var type = reader.GetTypeReference((TypeReferenceHandle)member.Parent);
        return (reader.GetString(type.Namespace), reader.GetString(type.Name));
    }
}
