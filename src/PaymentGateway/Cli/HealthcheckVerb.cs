using System.CommandLine;
using PaymentGateway.Hosting;

namespace PaymentGateway.Cli;

/// <summary>
/// `healthcheck`, for an image without a shell. It asks for readiness, because nginx may open only then, and Docker
/// does not restart an unhealthy container.
/// </summary>
internal static class HealthcheckVerb
{
    public const string Name = "healthcheck";

    private const string UrlsVariable = "ASPNETCORE_URLS";

    // Less than the limit of the Dockerfile's HEALTHCHECK, so that its line says why.
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(2);

    public static Command Create()
    {
        var verb = new Command(Name, $"Check that the instance on {UrlsVariable} takes payments; exit code 1 if not.");
        verb.SetAction(static (_, _) => RunAsync());
        return verb;
    }

    /// <returns>0 or 1, because HEALTHCHECK knows no other codes.</returns>
    public static async Task<int> RunAsync()
    {
        var fault = await FindFaultAsync(Environment.GetEnvironmentVariable(UrlsVariable)?.Split(';')[0]);
        await Console.Out.WriteLineAsync(fault is null ? "ready" : $"not ready: {fault}");
        return fault is null ? ExitCodes.Ok : ExitCodes.No;
    }

    private static async Task<string?> FindFaultAsync(string? url)
    {
        if (string.IsNullOrWhiteSpace(url))
            return $"{UrlsVariable} is not set";

        try
        {
            using var http = GatewayClient.Open(url, AnswerLimit);
            using var answer = await http.GetAsync(HealthEndpoints.ReadyPath);
            return answer.IsSuccessStatusCode ? null : $"{url} answered {(int)answer.StatusCode}";
        }
        catch (Exception failed) when (failed is HttpRequestException or OperationCanceledException
            or UriFormatException)
        {
            return $"{url}: {failed.Message}";
        }
    }
}
