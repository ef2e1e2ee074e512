using System.Diagnostics;
using System.Net.Sockets;

namespace PaymentGateway.Benchmarks.Load;

/// <summary>Asks an instance's socket every millisecond until it is ready; curl alone would cost ten a try.</summary>
internal static class ReadyWatch
{
    private static readonly byte[] Question =
        "GET /readyz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n"u8.ToArray();

    /// <summary>Prints the Unix time of the first 200 in microseconds.</summary>
    public static int Run(string socket, TimeSpan limit)
    {
        // Once for nothing, so that the first real try is compiled.
        IsReady(socket);
        Console.WriteLine("watching");
        var started = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(started) < limit)
        {
            if (IsReady(socket))
            {
                Console.WriteLine((DateTime.UtcNow - DateTime.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond);
                return 0;
            }

            Thread.Sleep(1);
        }

        return 1;
    }

    private static bool IsReady(string socket)
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
