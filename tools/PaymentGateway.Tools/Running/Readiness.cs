using System.Net.Sockets;

namespace PaymentGateway.Tools.Running;

/// <summary>Asks from outside whether something listens, or says that it is ready.</summary>
internal static class Readiness
{
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(2);

    public static bool Listens(int port)
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            socket.Connect(IPAddress.Loopback, port);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }

    /// <exception cref="ToolException">The port is taken.</exception>
    public static void RefuseTaken(string who, int port)
    {
        if (Listens(port))
            throw new ToolException($"{who} cannot start: port {port} is in use");
    }

    public static Task<bool> IsReadyAsync(int port, CancellationToken cancellation) =>
        AnswersAsync(new DnsEndPoint("127.0.0.1", port), $"http://127.0.0.1:{port}/readyz", cancellation);

    public static Task<bool> IsReadyAsync(string socket, CancellationToken cancellation) =>
        AnswersAsync(new UnixDomainSocketEndPoint(socket), "http://gateway/readyz", cancellation);

    private static async Task<bool> AnswersAsync(EndPoint endPoint, string url, CancellationToken cancellation)
    {
        using var http = new HttpClient(HandlerTo(endPoint)) { Timeout = AnswerLimit };
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

    private static SocketsHttpHandler HandlerTo(EndPoint endPoint) => new()
    {
        UseProxy = false,
        ConnectCallback = async (_, cancellation) =>
        {
            var unix = endPoint is UnixDomainSocketEndPoint;
            var socket = unix
                ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
                : new Socket(SocketType.Stream, ProtocolType.Tcp);
            try
            {
                await socket.ConnectAsync(endPoint, cancellation);
                return new NetworkStream(socket, ownsSocket: true);
            }
            catch
            {
                socket.Dispose();
                throw;
            }
        },
    };
}
