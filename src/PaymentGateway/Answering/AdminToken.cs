using System.Security.Cryptography;
using System.Text;
using PaymentGateway.Configuring;

namespace PaymentGateway.Answering;

/// <summary>The token of the operator's calls; where none is set they are open.</summary>
internal sealed class AdminToken(GatewayOptions options)
{
    private const string Header = "X-Rinha-Token";

    // Prometheus can send no other.
    private const string Bearer = "Bearer ";

    private readonly byte[]? _expected =
        options.AdminToken is { } token ? SHA256.HashData(Encoding.UTF8.GetBytes(token)) : null;

    /// <summary>Answers 401 where the token is missing or wrong; compares in constant time.</summary>
    /// <returns>Whether the call may go on.</returns>
    public async ValueTask<bool> AdmitsAsync(HttpContext context)
    {
        if (_expected is null || CryptographicOperations.FixedTimeEquals(
                SHA256.HashData(Encoding.UTF8.GetBytes(GivenIn(context.Request.Headers))), _expected))
            return true;

        await ProblemAnswer.WriteAsync(context, 401, "Token needed", $"{Header} is missing or wrong.", Header);
        return false;
    }

    private static string GivenIn(IHeaderDictionary headers) =>
        headers.Authorization.ToString() is var given && given.StartsWith(Bearer, StringComparison.OrdinalIgnoreCase)
            ? given[Bearer.Length..]
            : headers[Header].ToString();
}
