using System.Net.NetworkInformation;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;

namespace PaymentGateway.Tests.Support;

/// <summary>Stands before a processor: counts connections, hears bytes, and may leave connections unmade.</summary>
public sealed class ProcessorFront : IAsyncDisposable
{
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly Socket _filler = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly ConcurrentQueue<Socket> _accepted = new();
    private readonly ConcurrentQueue<string> _heard = new();
    private readonly Uri _processor;
    private readonly X509Certificate2? _certificate;
    private int _silent;

    private ProcessorFront(Uri processor, X509Certificate2? certificate, int backlog)
    {
        (_processor, _certificate) = (processor, certificate);
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen(backlog);
    }

    public Uri BaseAddress => new($"{(_certificate is null ? "http" : "https")}://127.0.0.1:{Port}");

    public int Connections => _accepted.Count;

    public int Silent => Volatile.Read(ref _silent);

    public string Heard => string.Concat(_heard);

    private int Port => ((IPEndPoint)_listener.LocalEndPoint!).Port;

    public static ProcessorFront Open(Uri processor, X509Certificate2? certificate = null)
    {
        var front = new ProcessorFront(processor, certificate, backlog: 512);
        front.Open();
        return front;
    }

    /// <summary>A front that leaves all connections unmade until it opens.</summary>
    public static async Task<ProcessorFront> FullAsync(Uri processor)
    {
        // A listener whose backlog is full answers no further connection.
        var front = new ProcessorFront(processor, certificate: null, backlog: 0);
        await front._filler.ConnectAsync(front._listener.LocalEndPoint!);
        return front;
    }

    /// <summary>From now on connections are made, those that wait at their next try.</summary>
    public void Open() => _ = AcceptAsync();

    /// <summary>Ends all connections that are open, as a processor does with idle ones.</summary>
    public void HangUp()
    {
        foreach (var socket in _accepted)
            socket.Shutdown(SocketShutdown.Send);
    }

    public bool HasClient(TcpState state) => IPGlobalProperties.GetIPGlobalProperties().GetActiveTcpConnections()
        .Any(one => one.RemoteEndPoint.Port == Port && one.State == state);

    public ValueTask DisposeAsync()
    {
        _listener.Dispose();
        _filler.Dispose();
        foreach (var socket in _accepted)
            socket.Dispose();
        return ValueTask.CompletedTask;
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (await _listener.AcceptAsync() is var socket)
            {
                if (socket.RemoteEndPoint!.Equals(_filler.LocalEndPoint))
                {
                    socket.Dispose();
                    continue;
                }

                _accepted.Enqueue(socket);
                _ = RelayAsync(socket);
            }
        }
        catch (Exception over) when (over is SocketException or ObjectDisposedException)
        {
            // Disposed.
        }
    }

    private async Task RelayAsync(Socket socket)
    {
        try
        {
            await using var client = await GreetAsync(new NetworkStream(socket, ownsSocket: true));
            using var upstream = new TcpClient();
            await upstream.ConnectAsync(_processor.Host, _processor.Port);
            var answers = AnswerAsync(upstream.GetStream(), client, socket);
            var buffer = new byte[4096];
            var length = await client.ReadAsync(buffer);
            if (length == 0)
                Interlocked.Increment(ref _silent);
            for (; length > 0; length = await client.ReadAsync(buffer))
            {
                _heard.Enqueue(Encoding.Latin1.GetString(buffer, 0, length));
                await upstream.GetStream().WriteAsync(buffer.AsMemory(0, length));
            }

            upstream.Client.Shutdown(SocketShutdown.Send);
            await answers;
        }
        catch (Exception broken) when (broken is IOException or SocketException or ObjectDisposedException
            or System.Security.Authentication.AuthenticationException)
        {
            // Either side ends it; the clients' outcomes are what tests look at.
        }
    }

    // However the processor ends the connection, the client's ends too.
    private static async Task AnswerAsync(NetworkStream processor, Stream client, Socket socket)
    {
        try
        {
            await processor.CopyToAsync(client);
        }
        finally
        {
            socket.Dispose();
        }
    }

    private async Task<Stream> GreetAsync(NetworkStream plain)
    {
        if (_certificate is null)
            return plain;

        var secure = new SslStream(plain);
        // Offline: else this end would fetch the certificate's issuer, as .NET's servers do.
        await secure.AuthenticateAsServerAsync(new SslServerAuthenticationOptions
        {
            ServerCertificateContext = SslStreamCertificateContext.Create(_certificate, null, offline: true),
        });
        return secure;
    }
}
