namespace PaymentGateway.Tests.Support;

/// <summary>All answers on a raw connection until the server closed it.</summary>
public sealed record RawAnswers(IReadOnlyList<int> Statuses, string Text)
{
    public override string ToString() => Statuses.Count == 0 ? "closed" : $"{string.Join(", ", Statuses)}, closed";
}

/// <summary>A connection that sends bytes as they are, as no HTTP client would. One caller at a time.</summary>
public sealed class RawConnection : IDisposable
{
    private static readonly Regex StatusLine = new(@"HTTP/1\.1 (\d{3}) ");

    private readonly Socket _socket;
    private readonly ConcurrentQueue<string> _heard = new();

    private RawConnection(Socket socket) => _socket = socket;

    /// <summary>The statuses of the answers so far; complete once <see cref="ReadToEndAsync"/> has ended.</summary>
    public IReadOnlyList<int> Statuses =>
        StatusLine.Matches(Heard()).Select(line => int.Parse(line.Groups[1].ValueSpan, null)).ToList();

    public static Task<RawConnection> ToNginxAsync(GatewaySystem system) =>
        FromAsync(IPAddress.Loopback, system.Address.Port);

    public static Task<RawConnection> FromAsync(IPAddress address, int port)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        socket.Bind(new IPEndPoint(address, 0));
        return OpenAsync(socket, new IPEndPoint(IPAddress.Loopback, port));
    }

    /// <summary>To Kestrel itself, as nginx comes.</summary>
    public static Task<RawConnection> ToInstanceAsync(GatewaySystem system, string part) => OpenAsync(
        new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified),
        new UnixDomainSocketEndPoint(system.SocketOf(part)));

    public async Task SendAsync(string text) => await _socket.SendAsync(Encoding.Latin1.GetBytes(text));

    /// <summary>As `nc -N` does behind its input: the other direction stays open.</summary>
    public void EndSending() => _socket.Shutdown(SocketShutdown.Send);

    /// <summary>Sends a piece, waits for the pace, and so on, until the pieces or the connection end.</summary>
    public async Task<RawAnswers> DribbleAsync(IEnumerable<string> pieces, TimeSpan pace, TimeSpan within)
    {
        var end = ReadToEndAsync(within);
        try
        {
            foreach (var piece in pieces)
            {
                await SendAsync(piece);
                if (await Task.WhenAny(end, Task.Delay(pace)) == end)
                    break;
            }
        }
        catch (SocketException)
        {
            // The server closed the connection meanwhile, and the reader reports that.
        }

        return await end;
    }

    /// <exception cref="TimeoutException">It did not close in time.</exception>
    public async Task<RawAnswers> ReadToEndAsync(TimeSpan within)
    {
        using var limit = new CancellationTokenSource(within);
        var buffer = new byte[4096];
        try
        {
            while (await _socket.ReceiveAsync(buffer, limit.Token) is > 0 and var length)
                _heard.Enqueue(Encoding.Latin1.GetString(buffer, 0, length));
        }
        catch (SocketException)
        {
            // A reset closes as well.
        }
        catch (OperationCanceledException)
        {
            throw new TimeoutException($"still open after {within.TotalSeconds} s; heard: {Heard()}");
        }

        return new RawAnswers(Statuses, Heard());
    }

    public void Dispose() => _socket.Dispose();

    private static async Task<RawConnection> OpenAsync(Socket socket, EndPoint end)
    {
        try
        {
            await socket.ConnectAsync(end);
            return new RawConnection(socket);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private string Heard() => string.Concat(_heard);
}
