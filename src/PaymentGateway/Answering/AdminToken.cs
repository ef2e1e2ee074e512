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

    /// <summary>Whether one is set.</summary>
    public bool IsNeeded => _expected is not null;

    /// <summary>Answers 401 where the token is missing or wrong.</summary>
    /// <returns>Whether the call may go on.</returns>
    public async ValueTask<bool> AdmitsAsync(HttpContext context)
    {
        if (IsIn(context.Request))
            return true;

        await RefuseAsync(context);
        return false;
    }

    /// <summary>Whether a request has it in a header, or needs none.</summary>
    public bool IsIn(HttpRequest request) =>
        // The bytes as they came (GatewayApp): a token in UTF-8 is what it was set to.
        !IsNeeded || IsToken(Encoding.Latin1.GetBytes(GivenIn(request.Headers)));

    /// <summary>Compares in constant time.</summary>
    public bool IsToken(string given) => IsToken(Encoding.UTF8.GetBytes(given));

    /// <summary>What only who knows the token can make of a text.</summary>
    public string Sign(string text) => Convert.ToHexString(HMACSHA256.HashData(
        Encoding.UTF8.GetBytes(options.AdminToken!), Encoding.UTF8.GetBytes(text)));

    /// <summary>Answers 401. Browsers show no form of their own for Bearer.</summary>
    public static Task RefuseAsync(HttpContext context)
    {
        context.Response.Headers.WWWAuthenticate = Bearer.TrimEnd();
        return ProblemAnswer.WriteAsync(context, 401, "Token needed", $"{Header} is missing or wrong.", Header);
    }

    private bool IsToken(byte[] given) =>
        CryptographicOperations.FixedTimeEquals(SHA256.HashData(given), _expected);

    private static string GivenIn(IHeaderDictionary headers) =>
        headers.Authorization.ToString() is var given && given.StartsWith(Bearer, StringComparison.OrdinalIgnoreCase)
            ? given[Bearer.Length..]
            : headers[Header].ToString();
}
