using System.Reflection;

namespace PaymentGateway.Tests.Storage;

public sealed class PaymentStatesTests
{
    [Fact]
    public void Each_state_is_in_statements_as_it_is_in_code()
    {
        var inStatements = ValuesOf(typeof(PaymentStates.Sql));

        Assert.NotEmpty(inStatements);
        Assert.Equal(ValuesOf(typeof(PaymentStates)), inStatements);
    }

    private static Dictionary<string, string?> ValuesOf(Type states) =>
        states.GetFields(BindingFlags.Public | BindingFlags.Static).ToDictionary(
            field => field.Name, field => Convert.ToString(field.GetRawConstantValue(), CultureInfo.InvariantCulture));
}
