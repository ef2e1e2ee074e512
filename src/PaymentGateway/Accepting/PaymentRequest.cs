using System.Buffers;
using System.Text.Json;

namespace PaymentGateway.Accepting;

/// <summary>The body of POST /payments; both members are checked by <see cref="TryParse"/>.</summary>
internal record struct PaymentRequest
{
    private const string IdReason = "must be a UUID such as 4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3";
    private const string AmountReason =
        "must be a number above 0 with at most two decimals, at most 999999999999.99, such as 19.90";

    // Set, not constructed: the serializer's way through a constructor allocates for each request.
    public Guid? CorrelationId { get; set; }

    public decimal? Amount { get; set; }

    /// <summary>Reads and checks a body. One rule for all: what is wrong with it is a 400 (README, errors).</summary>
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
            var reader = new Utf8JsonReader(body);
            request = JsonSerializer.Deserialize(ref reader, GatewayJsonContext.Default.PaymentRequest);
            if (reader.Read())
                throw new JsonException("More follows after the object.");
        }
        catch (JsonException wrong)
        {
            (field, reason) = Explain(wrong);
            return false;
        }

        if (request.CorrelationId is not { } given || given == Guid.Empty)
            (field, reason) = ("correlationId", IdReason);
        else if (request.Amount is not { } amount || !Money.TryToCents(amount, out amountCents))
            (field, reason) = ("amount", AmountReason);
        else
            id = given;
        return reason is null;
    }

    private static (string? Field, string Reason) Explain(JsonException wrong) => wrong.Path switch
    {
        // An inner JsonException is the reader's: the text itself is no JSON, and NaN is none either.
        _ when wrong.InnerException is JsonException =>
            (null, $"The body is no valid JSON at byte {wrong.BytePositionInLine}."),
        "$.correlationId" => ("correlationId", IdReason),
        "$.amount" => ("amount", AmountReason),
        _ => (null, "The body is no JSON object with correlationId and amount."),
    };
}
