using System.Buffers;
using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Accepting;

public sealed class PaymentRequestTests
{
    private const string Id = "4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3";
    private const string Repeated = "is given more than once";

    [Theory]
    [InlineData("")]
    [InlineData("   ")]
    [InlineData("no json")]
    [InlineData("{")]
    [InlineData("null")]
    [InlineData("17")]
    [InlineData($$"""[{"correlationId":"{{Id}}","amount":19.90}]""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":19.90""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":19.90} more""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":19.90}{}""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":NaN}""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":.5}""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":1,}""")]
    [InlineData($$"""{'correlationId':'{{Id}}','amount':1}""")]
    public void A_body_that_is_no_JSON_object_is_refused_as_a_whole(string body) => AssertRefused(body, null, "");

    [Fact]
    public void A_bad_amount_is_refused_by_name()
    {
        string[] amounts =
        [
            "0", "0.00", "-0.01", "-19.90", "19.901", "0.001", "1e-3", "1000000000000", "1000000000000.00",
            "999999999999.991", "19.905", "1e400", "-1e400", "79228162514264337593543950335",
            "-79228162514264337593543950335", "79228162514264337593543950336", "\"19.90\"", "\"NaN\"", "null", "true",
            "[]", "{}",
        ];

        Assert.All(amounts, amount => AssertRefused(
            $$"""{"correlationId":"{{Id}}","amount":{{amount}}}""", "amount", "two decimals"));
    }

    [Fact]
    public void A_bad_correlation_id_is_refused_by_name()
    {
        string[] ids =
        [
            "\"\"", "\"4a7901b8\"", "\"4a7901b87d264d9daa194dc1c7cf60b3\"", $"\"{{{Id}}}\"", $"\" {Id}\"",
            "\"4a7901b8-7d26-4d9d-aa19-4dc1c7cf60bg\"", $"\"{Guid.Empty}\"", "null", "17", "[]",
        ];

        Assert.All(ids, id => AssertRefused(
            $$"""{"correlationId":{{id}},"amount":19.90}""", "correlationId", "UUID"));
    }

    [Theory]
    [InlineData("{}", "correlationId", "is missing")]
    [InlineData("""{"amount":19.90}""", "correlationId", "is missing")]
    [InlineData($$"""{"correlationId":"{{Id}}"}""", "amount", "is missing")]
    [InlineData($$"""{"correlationId":"{{Id}}","note":1}""", "amount", "is missing")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":1,"amount":2}""", "amount", Repeated)]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":1,"amount":1}""", "amount", Repeated)]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":null,"amount":1}""", "amount", Repeated)]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":1,"\u0061mount":2}""", "amount", Repeated)]
    [InlineData($$"""{"amount":1,"note":0,"correlationId":"{{Id}}","amount":2}""", "amount", Repeated)]
    [InlineData($$"""{"correlationId":"{{Id}}","correlationId":"{{Id}}","amount":1}""", "correlationId", Repeated)]
    public void A_missing_or_repeated_member_is_refused_by_name(string body, string field, string reason)
    {
        AssertRefused(body, field, reason);

        Assert.Equal(reason, Parse(body).Reason);
    }

    [Theory]
    [InlineData("""{"\ud800mount":1}""", null)]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":19.90,"\udc00":1}""", null)]
    [InlineData("""{"correlationId":"4a7901b8-7d26-4d9d-aa19-4dc1c7cf\ud800","amount":19.90}""", "correlationId")]
    [InlineData("""{"correlationId":"\ud800","amount":19.90}""", "correlationId")]
    public void Half_a_surrogate_pair_is_refused(string body, string? field) => AssertRefused(body, field, "");

    [Theory]
    [InlineData("19.90", 1990)]
    [InlineData("19.9", 1990)]
    [InlineData("19.900", 1990)]
    [InlineData("19.9000000000000000000000", 1990)]
    [InlineData("1e2", 10_000)]
    [InlineData("1990e-2", 1990)]
    [InlineData("0.01", 1)]
    [InlineData("999999999999.99", 99_999_999_999_999)]
    public void A_valid_amount_is_read_in_cents(string amount, long cents)
    {
        var parsed = Parse($$"""{"correlationId":"{{Id}}","amount":{{amount}}}""");

        // A member more, and the serializer reads it.
        Assert.Equal(parsed, Parse($$"""{"correlationId":"{{Id}}","amount":{{amount}},"more":0}"""));
        Assert.Equal((true, Guid.Parse(Id), cents, null, null), parsed);
    }

    [Property]
    public void Any_id_and_any_whole_cents_are_read_as_they_were_written(Guid id, DoNotSize<ulong> any)
    {
        var cents = 1 + (long)(any.Item % Money.MaxCents);
        var amount = Money.FromCents(cents).ToString(CultureInfo.InvariantCulture);

        var parsed = Parse($$"""{"correlationId":"{{id}}","amount":{{amount}}}""");

        Assert.Equal((true, id, cents), (parsed.Valid, parsed.Id, parsed.Cents));
    }

    [Theory]
    [InlineData("""{"correlationId":"4A7901B8-7D26-4D9D-AA19-4DC1C7CF60B3","amount":1.5}""")]
    [InlineData($$"""{"note":{"amount":[0]},"correlationId":"{{Id}}","amount":1.5,"requestedAt":"x"}""")]
    public void An_upper_case_id_is_the_same_id_and_unknown_members_are_ignored(string body) =>
        Assert.Equal((true, Guid.Parse(Id), 150, null, null), Parse(body));

    [Fact]
    public void A_body_that_arrives_in_pieces_is_read_as_a_whole()
    {
        var body = Encoding.UTF8.GetBytes($$"""{"correlationId":"{{Id}}","amount":19.90}""");

        for (var at = 1; at < body.Length; at++)
        {
            Assert.True(PaymentRequest.TryParse(BodyPiece.Cut(body, at), out var id, out var cents, out _, out _));
            Assert.Equal((Guid.Parse(Id), 1990), (id, cents));
        }
    }

    private static void AssertRefused(string body, string? field, string reason)
    {
        var parsed = Parse(body);

        Assert.Equal((false, field), (parsed.Valid, parsed.Field));
        Assert.NotEmpty(parsed.Reason!);
        Assert.Contains(reason, parsed.Reason, StringComparison.Ordinal);
    }

    private static (bool Valid, Guid Id, long Cents, string? Field, string? Reason) Parse(string body)
    {
        var bytes = new ReadOnlySequence<byte>(Encoding.UTF8.GetBytes(body));
        var valid = PaymentRequest.TryParse(bytes, out var id, out var cents, out var field, out var reason);
        return (valid, id, cents, field, reason);
    }
}
