using System.Net.Sockets;
using PaymentGateway.Leasing;

namespace PaymentGateway.Hosting;

/// <summary>
/// `PaymentGateway healthcheck`: asks the instance that runs on ASPNETCORE_URLS whether it can take payments, for an
/// image without a shell. Readiness, because nginx may open only then; Docker restarts nobody for being unhealthy.
/// </summary>
internal static class HealthcheckVerb
{
    public const string Name = "healthcheck";

    private const string UrlsVariable = "ASPNETCORE_URLS";

    // Less than the limit of the Dockerfile's HEALTHCHECK, so that its line says why.
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(2);

    /// <summary>Writes one line.</summary>
    /// <returns>0 when the instance is ready, 1 otherwise: what HEALTHCHECK knows.</returns>
    public static async Task<int> RunAsync()
    {
        var fault = await FindFaultAsync(Environment.GetEnvironmentVariable(UrlsVariable)?.Split(';')[0]);
        await Console.Out.WriteLineAsync(fault is null ? "ready" : $"not ready: {fault}");
        return fault is null ? 0 : 1;
    }

    private static async Task<string?> FindFaultAsync(string? url)
    {
        if (string.IsNullOrWhiteSpace(url))
            return $"{UrlsVariable} is not set";

        try
        {
            using var http = Open(url);
            using var answer = await http.GetAsync(HealthEndpoints.ReadyPath);
            return answer.IsSuccessStatusCode ? null : $"{url} answered {(int)answer.StatusCode}";
        }
        catch (Exception failed) when (failed is HttpRequestException or OperationCanceledException
            or UriFormatException)
        {
            return $"{url}: {failed.Message}";
        }
    }

    private static HttpClient Open(string url)
    {
        var handler = new SocketsHttpHandler { UseProxy = false };
        // Kestrel's notations for every address.
        var address = url.Replace("//+", "//localhost", StringComparison.Ordinal)
            .Replace("//*", "//localhost", StringComparison.Ordinal);
        if (url.StartsWith(InstanceLock.UnixScheme, StringComparison.OrdinalIgnoreCase))
        {
            var path = url[InstanceLock.UnixScheme.Length..];
            handler.ConnectCallback = (_, cancellation) => ConnectAsync(path, cancellation);
            address = "http://localhost";
        }

        return new HttpClient(handler) { BaseAddress = new Uri(address), Timeout = AnswerLimit };
    }

    private static async ValueTask<Stream> ConnectAsync(string path, CancellationToken cancellation)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            await socket.ConnectAsync(new UnixDomainSocketEndPoint(path), cancellation);
            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }
}
