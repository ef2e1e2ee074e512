using System.Buffers.Text;
using System.Diagnostics;
using System.Net.Sockets;
using System.Text;

namespace PaymentGateway.Benchmarks.Allocating;

/// <summary>Posts payments from buffers made before, so that nothing but the gateway allocates.</summary>
/// <param name="token">A payer's; null: without one.</param>
internal sealed class SilentClient(string socket, int connections, string? token) : IDisposable
{
    private static readonly byte[] Body =
        "{\"correlationId\":\"00000000-0000-0000-0000-000000000000\",\"amount\":19.90}"u8.ToArray();

    private const int IdAt = 18;

    private readonly byte[] _head = Encoding.ASCII.GetBytes(
        "POST /payments HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nContent-Length: 71\r\n"
        + (token is null ? "" : $"Authorization: Bearer {token}\r\n") + "\r\n");

    private readonly Socket[] _sockets = Enumerable.Range(0, connections).Select(_ => Connect(socket)).ToArray();

    private int _left;
    private int _refused;

    /// <summary>Posts so many, all connections at once.</summary>
    /// <param name="perSecond">Over all connections; null: as fast as it goes.</param>
    /// <returns>How many were not answered by 202.</returns>
    public int Post(int count, double? perSecond = null)
    {
        (_left, _refused) = (count, 0);
        var start = Stopwatch.GetTimestamp();
        var threads = Array.ConvertAll(_sockets, one => new Thread(() => PostFrom(one, count, perSecond, start)));
        foreach (var thread in threads)
            thread.Start();
        foreach (var thread in threads)
            thread.Join();
        return _refused;
    }

    public void Dispose() => Array.ForEach(_sockets, one => one.Dispose());

    private void PostFrom(Socket connection, int count, double? perSecond, long start)
    {
        Span<byte> request = stackalloc byte[_head.Length + Body.Length];
        Span<byte> answer = stackalloc byte[1024];
        _head.CopyTo(request);
        Body.CopyTo(request[_head.Length..]);
        while (Interlocked.Decrement(ref _left) is >= 0 and var ahead)
        {
            if (perSecond is { } rate)
                WaitUntil(start, (count - 1 - ahead) / rate);

            Utf8Formatter.TryFormat(Guid.NewGuid(), request[(_head.Length + IdAt)..], out _);
            connection.Send(request);
            // A 202 has no body, so it comes in one piece.
            if (!answer[..connection.Receive(answer)].StartsWith("HTTP/1.1 202"u8))
                Interlocked.Increment(ref _refused);
        }
    }

    private static void WaitUntil(long start, double seconds)
    {
        while (Stopwatch.GetElapsedTime(start).TotalSeconds < seconds)
            Thread.Sleep(1);
    }

    private static Socket Connect(string path)
    {
        var connection = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        connection.Connect(new UnixDomainSocketEndPoint(path));
        return connection;
    }
}
