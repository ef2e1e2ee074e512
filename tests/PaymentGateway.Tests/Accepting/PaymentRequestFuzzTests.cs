using System.Buffers;
using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Accepting;

/// <summary>
/// The parser accepts any body or gives a reason. It agrees with the serializer, except for a repeated member
/// (the serializer takes the last one) and for an escaped name that is no UTF-8 (the serializer ignores it).
/// </summary>
public sealed class PaymentRequestFuzzTests
{
    private const string Good = """{"correlationId":"4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3","amount":19.90}""";

    private const int Cases = 3_000;

    private static readonly JsonSerializerOptions CamelCase = new(JsonSerializerDefaults.General)
    {
        PropertyNamingPolicy = JsonNamingPolicy.CamelCase,
    };

    private static readonly byte[][] Pieces =
    [
        .. new[]
        {
            "\\ud800", "\\udc00", "\\ud83d\\ude00", "\\u0061", "\\u00", "\\", "\\\"", "\"", "{", "}", "[", "]", ",",
            ":", " ", "\n", "\0", "\ufeff", "null", "true", "NaN", "0", "-", "+", ".", "e", "1e400", "1e-400", "19.905",
            "999999999999.99", "79228162514264337593543950336", "/*", "*/", "//", "amount", "correlationId",
            "\"amount\":1,", "\"\\u0061mount\":1,", "\"\\ud800\":1,", "\"note\":\"\\ud800\",", "\"amount\":null,",
            "\"correlationId\":null,", "\"correlationId\":\"\\ud800\",", Good, new string('[', 70),
        }.Select(piece => Encoding.UTF8.GetBytes(piece)),
        [0xff], [0xed, 0xa0, 0x80], [0xc3], [0xf0, 0x9f, 0x98],
    ];

    [Property(MaxTest = Cases)]
    public void Any_bytes_are_accepted_or_refused_as_the_serializer_would(byte[] body) =>
        IsJudgedAsTheSerializerDoes(body);

    [Property(MaxTest = Cases)]
    public void Any_change_of_a_valid_body_is_accepted_or_refused_as_the_serializer_would(DoNotSize<ulong>[] edits) =>
        IsJudgedAsTheSerializerDoes(Edited(edits.Take(6)));

    private static void IsJudgedAsTheSerializerDoes(byte[] body)
    {
        var whole = Judge(new ReadOnlySequence<byte>(body));

        Assert.Equal(ByTheSerializerAlone(body), (whole.Valid, whole.Id, whole.Cents));
        Assert.Equal(whole.Valid, whole.Reason is null);
        var cut = Judge(BodyPiece.Cut(body, body.Length / 2));
        Assert.Equal((whole.Valid, whole.Id, whole.Cents), (cut.Valid, cut.Id, cut.Cents));
    }

    private static (bool Valid, Guid Id, long Cents, string? Reason) Judge(ReadOnlySequence<byte> body) =>
        PaymentRequest.TryParse(body, out var id, out var cents, out _, out var reason)
            ? (true, id, cents, reason)
            : (false, default, 0, reason);

    private static (bool Valid, Guid Id, long Cents) ByTheSerializerAlone(byte[] body)
    {
        try
        {
            var read = JsonSerializer.Deserialize<Body>(body, CamelCase);
            return read is { CorrelationId: { } id, Amount: { } amount } && id != Guid.Empty
                && Money.TryToCents(amount, out var cents) && !IsRepeated(body, "correlationId")
                && !IsRepeated(body, "amount") && NamesAreText(body)
                ? (true, id, cents)
                : default;
        }
        catch (JsonException)
        {
            return default;
        }
    }

    private static bool IsRepeated(byte[] body, string member)
    {
        using var read = JsonDocument.Parse(body);
        return read.RootElement.EnumerateObject().Count(one => one.NameEquals(member)) > 1;
    }

    private static bool NamesAreText(byte[] body)
    {
        var reader = new Utf8JsonReader(body);
        try
        {
            while (reader.Read())
                if (reader is { CurrentDepth: 1, TokenType: JsonTokenType.PropertyName, ValueIsEscaped: true })
                    _ = reader.GetString();
            return true;
        }
        catch (InvalidOperationException)
        {
            return false;
        }
    }

    // Bits of a number choose the change, its place, and its piece or byte.
    private static byte[] Edited(IEnumerable<DoNotSize<ulong>> edits)
    {
        var body = Encoding.UTF8.GetBytes(Good).ToList();
        foreach (var edit in edits)
        {
            var at = (int)(edit.Item >> 2 & 0x3ff) % (body.Count + 1);
            var choice = (int)(edit.Item >> 12 & 0xfffff);
            if ((edit.Item & 3) < 2)
                body.InsertRange(at, Pieces[choice % Pieces.Length]);
            else if ((edit.Item & 3) == 2)
                body.RemoveRange(at, Math.Min(choice % 8, body.Count - at));
            else if (at < body.Count)
                body[at] = (byte)choice;
        }

        return [.. body];
    }

    private sealed record Body(Guid? CorrelationId, decimal? Amount);
}
