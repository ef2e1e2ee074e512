using System.CommandLine;
using Microsoft.AspNetCore.WebUtilities;

namespace PaymentGateway.Cli;

/// <summary>A verb that asks a running gateway by HTTP, with the options that all such verbs share.</summary>
internal sealed class GatewayVerb : Command
{
    private const string UrlVariable = "PAYMENT_GATEWAY_URL";
    private const string TokenVariable = "Gateway__Admin__Token";
    // Both instances of `make run` and of compose.
    private const string DefaultUrl = "http://localhost:9101;http://localhost:9102";

    private static readonly Option<string> Url = Text(
        "--url", $"Where the gateway is; default: {UrlVariable}, or {DefaultUrl}. http://unix:/path is a socket. "
            + "`status` asks the next of several when one does not answer, other verbs ask the first alone.", "url");

    private static readonly Option<string> Token = Text("--token", $"A token; default: {TokenVariable}.", "token");

    /// <param name="asksNext">Asks the next URL when one is unavailable; only for a verb that changes nothing.</param>
    public GatewayVerb(
        string name, string description, Func<GatewayClient, ParseResult, Task<Report>> ask, bool asksNext = false)
        : base(name, description)
    {
        Add(Url);
        Add(Token);
        Add(Report.Json);
        SetAction(async (ParseResult parsed, CancellationToken cancellation) =>
        {
            var urls = (parsed.GetValue(Url) ?? Variable(UrlVariable) ?? DefaultUrl).Split(';');
            var token = parsed.GetValue(Token) ?? Variable(TokenVariable);
            var faults = new List<string>();
            foreach (var url in asksNext ? urls : urls[..1])
                try
                {
                    using var gateway = new GatewayClient(url, token, cancellation);
                    return await (await ask(gateway, parsed)).WriteAsync(parsed);
                }
                catch (VerbException unavailable) when (unavailable.ExitCode == ExitCodes.Unavailable)
                {
                    faults.Add(unavailable.Message);
                }

            throw new VerbException(ExitCodes.Unavailable, string.Join("; ", faults));
        });
    }

    /// <summary>Refuses the verb without an option that has no value, such as <c>--yes</c>.</summary>
    public void Demand(Option<bool> option, string why) => Validators.Add(given =>
    {
        // Required is not enough: System.CommandLine does not enforce it for an option without a value.
        if (given.GetResult(option) is null)
            given.AddError($"{why}: say {option.Name}");
    });

    /// <summary>An option with a text, which the help calls <paramref name="value"/>.</summary>
    public static Option<string> Text(string name, string description, string value) =>
        new(name) { Description = description, HelpName = value };

    /// <summary>A path with the given options as parameters of its query.</summary>
    public static string Query(ParseResult parsed, string path, params Option<string>[] options)
    {
        foreach (var option in options)
            if (parsed.GetValue(option) is { } value)
                path = QueryHelpers.AddQueryString(path, option.Name.TrimStart('-'), value);

        return path;
    }

    /// <summary>An environment variable; null when it is unset or empty.</summary>
    public static string? Variable(string name) =>
        Environment.GetEnvironmentVariable(name) is { Length: > 0 } value ? value : null;
}
