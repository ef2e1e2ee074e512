namespace PaymentGateway.Tests.Support;

/// <summary>The answers about one payment; each method says how a new one contradicts them, or null.</summary>
public sealed class ClientHistory
{
    private bool _isSettled;

    public long? AcknowledgedCents { get; private set; }

    /// <summary>Whether a look-up that is sent now may say 404, and unsettled.</summary>
    public (bool IsAcknowledged, bool IsSettled) Known => (AcknowledgedCents is not null, _isSettled);

    /// <summary>An answer to POST /payments.</summary>
    public string? OnPosted(int status, long cents)
    {
        switch (status)
        {
            case 409 when AcknowledgedCents == cents:
                return "was acknowledged, and is a conflict";
            case 202 when AcknowledgedCents is { } other && other != cents:
                return "is acknowledged with two amounts";
            case 202:
                AcknowledgedCents = cents;
                return null;
            default:
                return null;
        }
    }

    /// <summary>An answer to GET /payments/{id}; a 503 says nothing.</summary>
    /// <param name="known">What was <see cref="Known"/> when it was sent.</param>
    public string? OnLookedUp((bool IsAcknowledged, bool IsSettled) known, int status, string body)
    {
        if (status == 404 && known.IsAcknowledged)
            return "was acknowledged, and is not found";
        if (status != 200)
            return null;

        var payment = JsonNode.Parse(body)!;
        var isSettled = (string?)payment["state"] == "settled";
        _isSettled |= isSettled;
        return known.IsSettled && !isSettled ? "was settled, and is not any more"
            : AcknowledgedCents is { } cents && (long)((decimal)payment["amount"]! * 100) != cents
                ? "was acknowledged with another amount"
            : null;
    }
}
