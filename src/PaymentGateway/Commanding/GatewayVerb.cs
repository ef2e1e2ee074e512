using System.CommandLine;

namespace PaymentGateway.Commanding;

/// <summary>A verb that asks a running gateway by HTTP, with the options that all of these have.</summary>
internal static class GatewayVerb
{
    private const string UrlVariable = "PAYMENT_GATEWAY_URL";
    private const string TokenVariable = "Gateway__Admin__Token";
    private const string DefaultUrl = "http://localhost:9101";

    /// <summary>Prints JSON instead of text, on every verb that prints a report.</summary>
    public static readonly Option<bool> Json = new("--json") { Description = "Print JSON, for programs." };

    private static readonly Option<string> Url = new("--url")
    {
        Description = $"Where the gateway is; {UrlVariable}, or {DefaultUrl}. http://unix:/path for a socket.",
        HelpName = "url",
    };

    private static readonly Option<string> Token = new("--token")
    {
        Description = $"The admin token; {TokenVariable}.",
        HelpName = "token",
    };

    /// <param name="name">The verb.</param>
    /// <param name="description">One sentence.</param>
    /// <param name="ask">Asks the gateway.</param>
    public static Command Create(string name, string description, Func<GatewayClient, ParseResult, Task<Report>> ask)
    {
        var verb = new Command(name, description) { Url, Token, Json };
        verb.SetAction(async (ParseResult parsed, CancellationToken cancellation) =>
        {
            using var gateway = new GatewayClient(
                parsed.GetValue(Url) ?? Variable(UrlVariable) ?? DefaultUrl,
                parsed.GetValue(Token) ?? Variable(TokenVariable), cancellation);
            return await (await ask(gateway, parsed)).WriteAsync(parsed);
        });
        return verb;
    }

    private static string? Variable(string name) =>
        Environment.GetEnvironmentVariable(name) is { Length: > 0 } value ? value : null;
}
