namespace PaymentGateway.Tests.Support;

/// <summary>HTTP over a Unix socket, as nginx comes to an instance.</summary>
internal static class UnixHttp
{
    /// <param name="socket">Where the instance listens.</param>
    /// <param name="followsRedirects">Whether a redirection is followed, and no answer.</param>
    /// <param name="encoding">Of the headers that are sent, where it is not ASCII.</param>
    public static HttpClient To(string socket, bool followsRedirects = true, Encoding? encoding = null) => new(
        new SocketsHttpHandler
        {
            UseProxy = false,
            UseCookies = false,
            AllowAutoRedirect = followsRedirects,
            RequestHeaderEncodingSelector = (_, _) => encoding,
            ConnectCallback = async (_, cancellation) =>
            {
                var connection = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                try
                {
                    await connection.ConnectAsync(new UnixDomainSocketEndPoint(socket), cancellation);
                    return new NetworkStream(connection, ownsSocket: true);
                }
                catch
                {
                    connection.Dispose();
                    throw;
                }
            },
        })
    {
        BaseAddress = new Uri("http://gateway"),
    };

    /// <summary>A client whose headers go as they are, and to which a redirection is an answer.</summary>
    public static HttpClient Raw(Uri address, Encoding encoding) => new(new SocketsHttpHandler
    {
        UseProxy = false,
        AllowAutoRedirect = false,
        UseCookies = false,
        RequestHeaderEncodingSelector = (_, _) => encoding,
    })
    {
        BaseAddress = address,
    };
}
