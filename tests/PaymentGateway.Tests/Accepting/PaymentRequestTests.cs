using System.Buffers;
using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Accepting;

public sealed class PaymentRequestTests
{
    private const string Id = "4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3";

    [Theory]
    [InlineData("")]
    [InlineData("   ")]
    [InlineData("no json")]
    [InlineData("{")]
    [InlineData("null")]
    [InlineData("[]")]
    [InlineData("17")]
    [InlineData("\"text\"")]
    [InlineData("true")]
    [InlineData($$"""[{"correlationId":"{{Id}}","amount":19.90}]""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":19.90""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":19.90} more""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":19.90}{}""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":NaN}""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":Infinity}""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":.5}""")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":1,}""")]
    [InlineData($$"""{'correlationId':'{{Id}}','amount':1}""")]
    public void A_body_that_is_no_JSON_object_is_refused_as_a_whole(string body)
    {
        var parsed = Parse(body);

        Assert.False(parsed.Valid);
        Assert.Null(parsed.Field);
        Assert.NotEmpty(parsed.Reason!);
    }

    [Theory]
    [InlineData("0")]
    [InlineData("0.00")]
    [InlineData("-0.01")]
    [InlineData("-19.90")]
    [InlineData("19.901")]
    [InlineData("0.001")]
    [InlineData("1e-3")]
    [InlineData("1000000000000")]
    [InlineData("1000000000000.00")]
    [InlineData("999999999999.991")]
    [InlineData("1e400")]
    [InlineData("-1e400")]
    [InlineData("79228162514264337593543950336")]
    [InlineData("\"19.90\"")]
    [InlineData("\"NaN\"")]
    [InlineData("null")]
    [InlineData("true")]
    [InlineData("[]")]
    [InlineData("{}")]
    public void A_bad_amount_is_refused_by_name(string amount)
    {
        var parsed = Parse($$"""{"correlationId":"{{Id}}","amount":{{amount}}}""");

        Assert.False(parsed.Valid);
        Assert.Equal("amount", parsed.Field);
        Assert.Contains("two decimals", parsed.Reason, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("\"\"")]
    [InlineData("\"4a7901b8\"")]
    [InlineData("\"4a7901b87d264d9daa194dc1c7cf60b3\"")]
    [InlineData("\"{4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3}\"")]
    [InlineData("\"4a7901b8-7d26-4d9d-aa19-4dc1c7cf60bg\"")]
    [InlineData("\" 4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3\"")]
    [InlineData("\"00000000-0000-0000-0000-000000000000\"")]
    [InlineData("null")]
    [InlineData("17")]
    [InlineData("[]")]
    public void A_bad_correlation_id_is_refused_by_name(string id)
    {
        var parsed = Parse($$"""{"correlationId":{{id}},"amount":19.90}""");

        Assert.False(parsed.Valid);
        Assert.Equal("correlationId", parsed.Field);
        Assert.Contains("UUID", parsed.Reason, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("{}", "correlationId")]
    [InlineData("""{"amount":19.90}""", "correlationId")]
    [InlineData($$"""{"correlationId":"{{Id}}"}""", "amount")]
    [InlineData($$"""{"correlationId":"{{Id}}","note":1}""", "amount")]
    public void A_missing_member_is_refused_by_name(string body, string field)
    {
        var parsed = Parse(body);

        Assert.False(parsed.Valid);
        Assert.Equal((field, "is missing"), (parsed.Field, parsed.Reason));
    }

    [Theory]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":1,"amount":2}""", "amount")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":1,"amount":1}""", "amount")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":null,"amount":1}""", "amount")]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":1,"\u0061mount":2}""", "amount")]
    [InlineData($$"""{"amount":1,"note":0,"correlationId":"{{Id}}","amount":2}""", "amount")]
    [InlineData($$"""{"correlationId":"{{Id}}","correlationId":"{{Id}}","amount":1}""", "correlationId")]
    public void A_repeated_member_is_refused_by_name(string body, string field)
    {
        var parsed = Parse(body);

        Assert.False(parsed.Valid);
        Assert.Equal((field, "is given more than once"), (parsed.Field, parsed.Reason));
    }

    [Theory]
    [InlineData("""{"\ud800mount":1}""", null)]
    [InlineData($$"""{"correlationId":"{{Id}}","amount":19.90,"\udc00":1}""", null)]
    [InlineData("""{"correlationId":"4a7901b8-7d26-4d9d-aa19-4dc1c7cf\ud800","amount":19.90}""", "correlationId")]
    [InlineData("""{"correlationId":"\ud800","amount":19.90}""", "correlationId")]
    public void Half_a_surrogate_pair_is_refused(string body, string? field)
    {
        var parsed = Parse(body);

        Assert.False(parsed.Valid);
        Assert.Equal(field, parsed.Field);
        Assert.NotEmpty(parsed.Reason!);
    }

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
        Assert.True(parsed.Valid);
        Assert.Null(parsed.Reason);
        Assert.Equal(Guid.Parse(Id), parsed.Id);
        Assert.Equal(cents, parsed.Cents);
    }

    [Property]
    public void Any_id_and_any_whole_cents_are_read_as_they_were_written(Guid id, DoNotSize<ulong> any)
    {
        var cents = 1 + (long)(any.Item % Money.MaxCents);
        var amount = Money.FromCents(cents).ToString(CultureInfo.InvariantCulture);

        var parsed = Parse($$"""{"correlationId":"{{id}}","amount":{{amount}}}""");

        Assert.Equal((true, id, cents), (parsed.Valid, parsed.Id, parsed.Cents));
    }

    [Fact]
    public void An_upper_case_id_is_the_same_id()
    {
        var parsed = Parse($$"""{"correlationId":"{{Id.ToUpperInvariant()}}","amount":1}""");

        Assert.True(parsed.Valid);
        Assert.Equal(Guid.Parse(Id), parsed.Id);
    }

    [Fact]
    public void Unknown_extra_members_are_ignored()
    {
        var parsed = Parse($$"""{"note":{"amount":[0]},"correlationId":"{{Id}}","amount":1.5,"requestedAt":"x"}""");

        Assert.True(parsed.Valid);
        Assert.Equal(150, parsed.Cents);
    }

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

    private static (bool Valid, Guid Id, long Cents, string? Field, string? Reason) Parse(string body)
    {
        var bytes = new ReadOnlySequence<byte>(Encoding.UTF8.GetBytes(body));
        var valid = PaymentRequest.TryParse(bytes, out var id, out var cents, out var field, out var reason);
        return (valid, id, cents, field, reason);
    }
}
