using System.Net;
using System.Net.Sockets;

namespace PaymentGateway.Settling;

/// <summary>
/// Makes the connections to a processor, within a limit of its own: the handler's would look like a call that timed
/// out, which is in doubt, and a connection that was never made is a clean refusal. Safe from any thread.
/// </summary>
/// <param name="ticker">At its ticks connections and answers are looked for.</param>
/// <param name="limit">For all addresses of the host together.</param>
/// <param name="callLimit">For each call on a connection.</param>
/// <param name="clock">Its time counts for connections, its monotonic time for calls.</param>
internal sealed class ProcessorConnector(Ticker ticker, TimeSpan limit, TimeSpan callLimit, TimeProvider clock)
{
    /// <summary>Connects to the first of the host's addresses that takes the connection.</summary>
    /// <exception cref="SocketException">None did: the last one's reason, or TimedOut.</exception>
    public async ValueTask<Stream> ConnectAsync(DnsEndPoint host, CancellationToken cancellation)
    {
        using var late = new CancellationTokenSource(limit, clock);
        using var limited = CancellationTokenSource.CreateLinkedTokenSource(cancellation, late.Token);
        try
        {
            var failed = new SocketException((int)SocketError.HostNotFound);
            // A look-up that runs does not end with its token.
            var looking = Dns.GetHostAddressesAsync(host.Host, limited.Token);
            foreach (var address in await looking.WaitAsync(limited.Token))
            {
                try
                {
                    return await ConnectAsync(new IPEndPoint(address, host.Port), limited.Token);
                }
                catch (SocketException refused)
                {
                    failed = refused;
                }
            }

            throw failed;
        }
        catch (OperationCanceledException) when (!cancellation.IsCancellationRequested)
        {
            throw new SocketException((int)SocketError.TimedOut);
        }
    }

    // Not by the socket's own ConnectAsync: the runtime would watch the socket from then on.
    private async Task<Stream> ConnectAsync(IPEndPoint address, CancellationToken cancellation)
    {
        var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp)
        {
            NoDelay = true,
            Blocking = false,
        };
        try
        {
            if (!TryConnect(socket, address))
                await EndAsync(socket, cancellation);
            return new TickedStream(socket, ticker, callLimit, clock);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private static bool TryConnect(Socket socket, IPEndPoint address)
    {
        try
        {
            socket.Connect(address);
            return true;
        }
        catch (SocketException begun) when (begun.SocketErrorCode == SocketError.WouldBlock)
        {
            return false;
        }
    }

    // It becomes writable when it is made, and when it has failed.
    private async Task EndAsync(Socket socket, CancellationToken cancellation)
    {
        while (!socket.Poll(TimeSpan.Zero, SelectMode.SelectWrite))
        {
            await ticker.NextAsync();
            cancellation.ThrowIfCancellationRequested();
            if (ticker.IsStopped)
                throw new SocketException((int)SocketError.OperationAborted);
        }

        if (socket.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.Error) is int error and not 0)
            throw new SocketException(error);
    }
}
