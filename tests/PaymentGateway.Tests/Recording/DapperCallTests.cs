using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using PaymentGateway.Recording;

namespace PaymentGateway.Tests.Recording;

/// <summary>
/// Dapper without Dapper.AOT makes its readers by reflection, which a native binary cannot. The compiler replaces each
/// call that Dapper.AOT takes over, so one that is left is a reference in the compiled gateway.
/// </summary>
public sealed class DapperCallTests
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

    private static (string Namespace, string Name)? TypeOf(MetadataReader reader, MemberReference member)
    {
        if (member.Parent.Kind != HandleKind.TypeReference)
            return null;

        var type = reader.GetTypeReference((TypeReferenceHandle)member.Parent);
        return (reader.GetString(type.Namespace), reader.GetString(type.Name));
    }
}
