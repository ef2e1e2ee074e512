using System.Buffers;
using System.Text.Json;

namespace PaymentGateway.Accepting;

/// <summary>The body of POST /payments; both members are checked by <see cref="TryParse"/>.</summary>
internal record struct PaymentRequest
{
    private const string IdReason = "must be a UUID such as 4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3";
    private const string AmountReason =
        "must be a number above 0 with at most two decimals, at most 999999999999.99, such as 19.90";

    private const string Missing = "is missing";
    private const string Repeated = "is given more than once";

    private Guid? _correlationId;
    private decimal? _amount;
    private int _correlationIds;
    private int _amounts;

    // Set, not constructed: a constructor called by the serializer allocates for each request. Both setters count,
    // because the serializer takes the last of several members with one name.
    public Guid? CorrelationId
    {
        readonly get => _correlationId;
        set => (_correlationId, _correlationIds) = (value, _correlationIds + 1);
    }

    public decimal? Amount
    {
        readonly get => _amount;
        set => (_amount, _amounts) = (value, _amounts + 1);
    }

    /// <summary>Reads and checks a body. One rule for all: what is wrong with it is a 400 (contract.md).</summary>
    /// <param name="body">The whole body.</param>
    /// <param name="id">The correlationId.</param>
    /// <param name="amountCents">The amount in cents.</param>
    /// <param name="field">What is wrong, or null for the body itself.</param>
    /// <param name="reason">Why it is wrong; null when nothing is.</param>
    public static bool TryParse(
        ReadOnlySequence<byte> body, out Guid id, out long amountCents, out string? field, out string? reason)
    {
        (id, amountCents, field, reason) = (default, 0, null, null);
        if (body.IsEmpty)
        {
            reason = "The body is empty; a JSON object with correlationId and amount is expected.";
            return false;
        }

        PaymentRequest request;
        try
        {
            if (!TryReadPlain(body, out request))
                request = ReadAny(body);
        }
        catch (JsonException wrong)
        {
            (field, reason) = Explain(wrong);
            return false;
        }

        if (request._correlationIds != 1)
            (field, reason) = ("correlationId", request._correlationIds == 0 ? Missing : Repeated);
        else if (request.CorrelationId is not { } given || given == Guid.Empty)
            (field, reason) = ("correlationId", IdReason);
        else if (request._amounts != 1)
            (field, reason) = ("amount", request._amounts == 0 ? Missing : Repeated);
        else if (request.Amount is not { } amount || !Money.TryToCents(amount, out amountCents))
            (field, reason) = ("amount", AmountReason);
        else
            id = given;
        return reason is null;
    }

    // What clients send but for their mistakes. The serializer's way costs several times this where code is cold.
    private static bool TryReadPlain(ReadOnlySequence<byte> body, out PaymentRequest request)
    {
        request = default;
        var reader = body.IsSingleSegment ? new Utf8JsonReader(body.FirstSpan) : new Utf8JsonReader(body);
        if (!reader.Read() || reader.TokenType != JsonTokenType.StartObject)
            return false;

        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            // What an escape stands for may be no text at all, and only the serializer says so by a JsonException.
            if (reader.ValueIsEscaped)
                return false;

            var isId = reader.ValueTextEquals("correlationId"u8);
            if (!isId && !reader.ValueTextEquals("amount"u8))
                return false;

            reader.Read();
            if (reader.ValueIsEscaped)
                return false;

            if (isId && reader.TokenType == JsonTokenType.String && reader.TryGetGuid(out var id))
                request.CorrelationId = id;
            else if (!isId && reader.TokenType == JsonTokenType.Number && reader.TryGetDecimal(out var amount))
                request.Amount = amount;
            else
                return false;
        }

        return !reader.Read();
    }

    private static PaymentRequest ReadAny(ReadOnlySequence<byte> body)
    {
        var reader = new Utf8JsonReader(body);
        var request = JsonSerializer.Deserialize(ref reader, PaymentJsonContext.Default.PaymentRequest);
        return reader.Read() ? throw new JsonException("More follows after the object.") : request;
    }

    private static (string? Field, string Reason) Explain(JsonException wrong) => wrong.Path switch
    {
        // The reader's own has no path, or is the inner one: the text itself is no JSON, and NaN is none either.
        _ when wrong.InnerException is JsonException || wrong is { Path: null, BytePositionInLine: not null } =>
            (null, $"The body is no valid JSON at byte {wrong.BytePositionInLine}."),
        "$.correlationId" => ("correlationId", IdReason),
        "$.amount" => ("amount", AmountReason),
        _ => (null, "The body is no JSON object with correlationId and amount."),
    };
}
