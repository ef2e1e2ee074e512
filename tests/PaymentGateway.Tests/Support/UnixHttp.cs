namespace PaymentGateway.Tests.Support;

/// <summary>Clients of instances, over a Unix socket as nginx comes to them, and of other programs.</summary>
internal static class UnixHttp
{
    /// <param name="encoding">The headers' encoding where it is not ASCII.</param>
    public static HttpClient To(string socket, bool followsRedirects = true, Encoding? encoding = null)
    {
        var handler = Handler(followsRedirects, encoding);
        handler.ConnectCallback = async (_, cancellation) =>
        {
            var connection = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            try
            {
                await connection.ConnectAsync(new UnixDomainSocketEndPoint(socket), cancellation);
                return new RefusableStream(connection);
            }
            catch
            {
                connection.Dispose();
                throw;
            }
        };
        return new HttpClient(handler) { BaseAddress = new Uri("http://gateway") };
    }

    /// <summary>A client whose headers go as they are, and to which a redirection is an answer.</summary>
    public static HttpClient Raw(Uri address, Encoding encoding) =>
        new(Handler(followsRedirects: false, encoding)) { BaseAddress = address };

    /// <summary>A client by TCP, past a proxy that the surrounding shell may name.</summary>
    public static HttpClient Plain(Uri address, TimeSpan? timeout = null) => new(
        new SocketsHttpHandler { UseProxy = false })
    {
        BaseAddress = address,
        Timeout = timeout ?? TimeSpan.FromSeconds(100),
    };

    private static SocketsHttpHandler Handler(bool followsRedirects, Encoding? encoding) => new()
    {
        UseProxy = false,
        UseCookies = false,
        AllowAutoRedirect = followsRedirects,
        RequestHeaderEncodingSelector = (_, _) => encoding,
    };

    // A server may refuse a request, and close, before the client has written all of it. The answer can still be read.
    private sealed class RefusableStream(Socket connection) : NetworkStream(connection, ownsSocket: true)
    {
        public override async ValueTask WriteAsync(
            ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            try
            {
                await base.WriteAsync(buffer, cancellationToken);
            }
            catch (IOException closed) when (closed.InnerException
                is SocketException { SocketErrorCode: SocketError.Shutdown })
            {
            }
        }
    }
}
