using System.Buffers.Binary;

namespace PaymentGateway.Tests.Support;

/// <summary>
/// The start of a connection through PgBouncer: it refuses the parameter `options`, or with
/// `ignore_startup_parameters = options` drops it.
/// </summary>
public sealed class Pooler : IAsyncDisposable
{
    private const int SslRequestLength = 8;

    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("payment-gateway-tests.");
    private readonly string _server;
    private readonly bool _drops;
    private readonly Socket _listener = NewSocket();
    private readonly CancellationTokenSource _ending = new();
    private readonly Task _accepting;

    public Pooler(string server, bool drops)
    {
        (_server, _drops) = (server, drops);
        _listener.Bind(EndPointIn(_directory.FullName));
        _listener.Listen();
        _accepting = AcceptAllAsync();
    }

    public string Host => _directory.FullName;

    public async ValueTask DisposeAsync()
    {
        await _ending.CancelAsync();
        _listener.Dispose();
        await _accepting;
        _ending.Dispose();
        _directory.Delete(recursive: true);
    }

    private static Socket NewSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    private static UnixDomainSocketEndPoint EndPointIn(string directory) =>
        new(Path.Combine(directory, ".s.PGSQL.5432"));

    private async Task AcceptAllAsync()
    {
        try
        {
            while (true)
                _ = ServeAsync(await _listener.AcceptAsync(_ending.Token));
        }
        catch (Exception over) when (over is OperationCanceledException or SocketException or ObjectDisposedException)
        {
            // Disposed.
        }
    }

    private async Task ServeAsync(Socket client)
    {
        using var server = NewSocket();
        using (client)
            try
            {
                var start = new byte[4_096];
                var count = await client.ReceiveAsync(start, _ending.Token);
                if (count == SslRequestLength)
                {
                    await client.SendAsync("N"u8.ToArray(), _ending.Token);
                    count = await client.ReceiveAsync(start, _ending.Token);
                }

                if (!_drops)
                {
                    await client.SendAsync(Refusal(), _ending.Token);
                    return;
                }

                await server.ConnectAsync(EndPointIn(_server), _ending.Token);
                await server.SendAsync(WithoutOptions(start[..count]), _ending.Token);
                await Task.WhenAny(PumpAsync(client, server), PumpAsync(server, client));
            }
            catch (Exception over) when (over is OperationCanceledException or SocketException)
            {
                // The client or the test has ended.
            }
    }

    private async Task PumpAsync(Socket from, Socket to)
    {
        var buffer = new byte[16 * 1024];
        while (await from.ReceiveAsync(buffer, _ending.Token) is > 0 and var count)
            await to.SendAsync(buffer.AsMemory(0, count), _ending.Token);
    }

    // Length, version, and names with values, each with a NUL at its end.
    private static byte[] WithoutOptions(byte[] start)
    {
        var words = Encoding.UTF8.GetString(start.AsSpan(8)).TrimEnd('\0').Split('\0');
        var kept = words.Chunk(2).Where(pair => pair[0] != "options").SelectMany(pair => pair);
        byte[] message = [.. start[..8], .. Encoding.UTF8.GetBytes($"{string.Join('\0', kept)}\0\0")];
        BinaryPrimitives.WriteInt32BigEndian(message, message.Length);
        return message;
    }

    private static byte[] Refusal()
    {
        var fields = "SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: options\0\0"u8;
        byte[] message = [(byte)'E', 0, 0, 0, 0, .. fields];
        BinaryPrimitives.WriteInt32BigEndian(message.AsSpan(1), message.Length - 1);
        return message;
    }
}
