using System.Security.Cryptography;

namespace PaymentGateway.Tests.Operator.Webhooks;

/// <summary>The verification that docs/integrate.md shows.</summary>
internal static class WebhookSnippet
{
    // The snippet begins here.
    public static bool Verify(string secret, string id, string timestamp, string signatures, byte[] body)
    {
        if (!long.TryParse(timestamp, out var sent))
            return false;
        var age = DateTimeOffset.UtcNow.ToUnixTimeSeconds() - sent;
        var key = Convert.FromBase64String(secret["whsec_".Length..]);
        byte[] signed = [.. Encoding.UTF8.GetBytes($"{id}.{timestamp}."), .. body];
        var expected = Encoding.ASCII.GetBytes("v1," + Convert.ToBase64String(HMACSHA256.HashData(key, signed)));
        return age is >= -300 and <= 300 && signatures.Split(' ').Any(
            given => CryptographicOperations.FixedTimeEquals(Encoding.ASCII.GetBytes(given), expected));
    }
    // The snippet ends here.
}
