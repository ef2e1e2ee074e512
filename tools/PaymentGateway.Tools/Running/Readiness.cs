using System.Net.NetworkInformation;
using System.Net.Sockets;

namespace PaymentGateway.Tools.Running;

/// <summary>Asks from outside whether something listens, or says that it is ready.</summary>
internal static class Readiness
{
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(2);

    public static bool Listens(int port) => IPGlobalProperties.GetIPGlobalProperties().GetActiveTcpListeners()
        .Any(listener => listener.Port == port);

    /// <exception cref="ToolException">The port is taken.</exception>
    public static void RefuseTaken(string who, int port)
    {
        if (Listens(port))
            throw new ToolException($"{who} cannot start: port {port} is in use");
    }

    public static Task<bool> IsReadyAsync(int port, CancellationToken cancellation) =>
        AnswersAsync(new SocketsHttpHandler { UseProxy = false }, $"http://127.0.0.1:{port}/readyz", cancellation);

    public static Task<bool> IsReadyAsync(string socket, CancellationToken cancellation) => AnswersAsync(
        new SocketsHttpHandler { UseProxy = false, ConnectCallback = (_, limit) => ConnectAsync(socket, limit) },
        "http://gateway/readyz", cancellation);

    private static async Task<bool> AnswersAsync(
        SocketsHttpHandler handler, string url, CancellationToken cancellation)
    {
        using var http = new HttpClient(handler) { Timeout = AnswerLimit };
        try
        {
            using var answer = await http.GetAsync(new Uri(url), cancellation);
            return answer.IsSuccessStatusCode;
        }
        catch (HttpRequestException)
        {
            return false; // Nothing listens there yet.
        }
        catch (TaskCanceledException) when (!cancellation.IsCancellationRequested)
        {
            return false; // It listens, and is too slow to be called ready.
        }
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
