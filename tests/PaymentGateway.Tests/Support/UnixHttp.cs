using System.Net.Sockets;

namespace PaymentGateway.Tests.Support;

/// <summary>HTTP over a Unix socket, as nginx comes to an instance.</summary>
internal static class UnixHttp
{
    public static HttpClient To(string socket) => new(new SocketsHttpHandler
    {
        UseProxy = false,
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
}
