using System.Buffers;

namespace PaymentGateway.Accepting;

/// <summary>The body of POST /payments. Every fault in it is a 400 (contract.md).</summary>
internal static class PaymentRequest
{
    private const string Id = "correlationId";
    private const string IdReason = "must be a UUID such as 4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3";
    private const string Amount = "amount";
    private const string AmountReason =
        "must be a number above 0 with at most two decimals, at most 999999999999.99, such as 19.90";

    private const string Missing = "is missing";
    private const string Repeated = "is given more than once";
    private const string NoObject = "The body is no JSON object with correlationId and amount.";

    /// <param name="field">The wrong field; null for the body itself.</param>
    /// <param name="reason">Null when nothing is wrong.</param>
    public static bool TryParse(
        ReadOnlySequence<byte> body, out Guid id, out long amountCents, out string? field, out string? reason)
    {
        (id, amountCents) = (default, 0);
        try
        {
            (field, reason) = body.IsEmpty
                ? (null, "The body is empty; a JSON object with correlationId and amount is expected.")
                : Read(body, out id, out amountCents);
        }
        catch (JsonException wrong)
        {
            (field, reason) = (null, $"The body is no valid JSON at byte {wrong.BytePositionInLine}.");
        }

        return reason is null;
    }

    private static (string? Field, string? Reason) Read(ReadOnlySequence<byte> body, out Guid id, out long amountCents)
    {
        (id, amountCents) = (default, 0);
        var (ids, amounts) = (0, 0);
        decimal? amount = null;
        var reader = body.IsSingleSegment ? new Utf8JsonReader(body.FirstSpan) : new Utf8JsonReader(body);
        reader.Read();
        if (reader.TokenType != JsonTokenType.StartObject)
            return (null, NoObject);

        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            if (reader.ValueIsEscaped && !IsText(ref reader))
                return (null, NoObject);

            if (reader.ValueTextEquals("correlationId"u8))
            {
                ids++;
                reader.Read();
                if (reader.TokenType == JsonTokenType.String
                    ? (reader.ValueIsEscaped && !IsText(ref reader)) || !reader.TryGetGuid(out id)
                    : reader.TokenType != JsonTokenType.Null)
                    return (Id, IdReason);
            }
            else if (reader.ValueTextEquals("amount"u8))
            {
                amounts++;
                reader.Read();
                if (reader.TokenType == JsonTokenType.Number && reader.TryGetDecimal(out var value))
                    amount = value;
                else if (reader.TokenType != JsonTokenType.Null)
                    return (Amount, AmountReason);
            }
            else
            {
                reader.Skip();
            }
        }

        // Throws when anything follows the object.
        reader.Read();
        if (ids != 1)
            return (Id, ids == 0 ? Missing : Repeated);
        if (id == Guid.Empty)
            return (Id, IdReason);
        if (amounts != 1)
            return (Amount, amounts == 0 ? Missing : Repeated);
        return amount is { } given && Money.TryToCents(given, out amountCents) ? (null, null) : (Amount, AmountReason);
    }

    // Only decoding shows that an escape is half a surrogate pair.
    private static bool IsText(ref Utf8JsonReader reader)
    {
        try
        {
            return reader.GetString() is not null;
        }
        catch (InvalidOperationException)
        {
            return false;
        }
    }
}
