using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;

namespace PaymentGateway.Tests.Storage;

/// <summary>
/// Dapper without Dapper.AOT makes its readers by reflection, which a native binary cannot. The compiler replaces each
/// call that Dapper.AOT takes over, so one that is left is a reference in the compiled gateway.
/// </summary>
public sealed class DapperCallTests
{
    private static readonly Regex Call = new(@"db\.(Query|Execute)\w*Async");
    private static readonly Regex Limit = new(@"db\.CommandTimeout\)");

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

    // Dapper.AOT takes no limit given for no limit at all.
    [Fact]
    public void Every_call_of_Dapper_has_the_time_limit_of_its_connection()
    {
        var calls = 0;
        foreach (var file in Sources())
            foreach (var statement in File.ReadAllText(file).Split(';').Where(part => Call.IsMatch(part)))
            {
                calls += Call.Count(statement);
                Assert.Equal(Call.Count(statement), Limit.Count(statement));
            }

        Assert.InRange(calls, 20, int.MaxValue);
    }

    private static string[] Sources() =>
        Directory.GetFiles(Repository.PathOf("src/PaymentGateway"), "*.cs", SearchOption.AllDirectories);

    private static (string Namespace, string Name)? TypeOf(MetadataReader reader, MemberReference member)
    {
        if (member.Parent.Kind != HandleKind.TypeReference)
            return null;

        var type = reader.GetTypeReference((TypeReferenceHandle)member.Parent);
        return (reader.GetString(type.Namespace), reader.GetString(type.Name));
    }
}
