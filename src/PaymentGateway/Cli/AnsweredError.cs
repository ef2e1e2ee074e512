using System.Text.Json;
using System.Text.Json.Nodes;
using PaymentGateway.Http;

namespace PaymentGateway.Cli;

/// <summary>What an error that was answered means for a verb; only a gateway's own says what it is about.</summary>
internal static class AnsweredError
{
    private const string NoPath = Problem.TypePrefix + "not-found";
    private const string RoleNeeded = Problem.TypePrefix + "role-needed";

    /// <param name="url">Who was asked.</param>
    /// <param name="status">No success.</param>
    /// <param name="body">Whatever came with it.</param>
    public static VerbException Of(string url, int status, string body)
    {
        var (type, detail) = ProblemOf(body);
        // A 404 of a call itself has a type of its own; this one says that the listener does not have the path.
        if (status == 404 && type == NoPath)
            return new VerbException(
                ExitCodes.Usage, $"--url: {url} is not an operator's listener; use one of Gateway__Admin__Urls");
        var exitCode = status switch
        {
            // These a proxy says as well, for a gateway behind it.
            429 or 502 or 503 or 504 => ExitCodes.Unavailable,
            _ when type?.StartsWith(Problem.TypePrefix, StringComparison.Ordinal) != true => (int?)null,
            400 => ExitCodes.Usage,
            401 => ExitCodes.NotPermitted,
            403 when type == RoleNeeded => ExitCodes.NotPermitted,
            403 => ExitCodes.WrongSetting,
            404 => ExitCodes.No,
            409 => ExitCodes.Unavailable,
            _ => ExitCodes.Failed,
        };
        return exitCode is { } known && detail is not null
            ? new VerbException(known, detail)
            : new VerbException(exitCode ?? ExitCodes.Failed, $"{url} answered {status}; is this the gateway?");
    }

    // RFC 9457; a proxy in between, or another service, may answer anything.
    private static (string? Type, string? Detail) ProblemOf(string body)
    {
        try
        {
            return JsonNode.Parse(body) is JsonObject problem
                ? ((string?)problem["type"], (string?)problem["detail"])
                : default;
        }
        catch (Exception other) when (other is JsonException or InvalidOperationException)
        {
            return default;
        }
    }
}
