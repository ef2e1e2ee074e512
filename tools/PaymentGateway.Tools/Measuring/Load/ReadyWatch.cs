using System.Diagnostics;
using System.Net.Sockets;

namespace PaymentGateway.Tools.Measuring.Load;

/// <summary>Asks an instance's socket every millisecond until it is ready; an HTTP client would cost more.</summary>
internal static class ReadyWatch
{
    private static readonly byte[] Question =
        "GET /readyz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n"u8.ToArray();

    /// <summary>The timestamp (<see cref="Stopwatch"/>) of the first 200, or nothing when the time is over.</summary>
    public static long? Await(string socket, TimeSpan limit)
    {
        var started = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(started) < limit)
        {
            if (IsReady(socket))
                return Stopwatch.GetTimestamp();

            Thread.Sleep(1);
        }

        return null;
    }

    /// <summary>One try. A first one for nothing compiles it.</summary>
    public static bool IsReady(string socket)
    {
        if (!File.Exists(socket))
            return false;

        try
        {
            using var connection = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            connection.Connect(new UnixDomainSocketEndPoint(socket));
            connection.Send(Question);
            Span<byte> answer = stackalloc byte[512];
            return answer[..connection.Receive(answer)].StartsWith("HTTP/1.1 200"u8);
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
