using PaymentGateway.Hosting.Http;

namespace PaymentGateway.Tests.Hosting.Http;

public sealed class AddressRaceTests : IDisposable
{
    private static readonly IPAddress[] Addresses = [IPAddress.Parse("127.0.0.1"), IPAddress.Parse("127.0.0.2")];

    // As a processor's ConnectTimeout by default.
    private readonly CancellationTokenSource _limit = new(TimeSpan.FromSeconds(2));
    private readonly List<IDisposable> _sockets = [];

    public void Dispose()
    {
        _sockets.ForEach(socket => socket.Dispose());
        _limit.Dispose();
    }

    [Fact]
    public async Task The_second_address_takes_the_connection_within_the_limit_when_the_first_swallows_it()
    {
        var port = await SwallowAsync(Addresses[0], port: 0);
        Listen(Addresses[1], port);

        Assert.Equal(Addresses[1], await ConnectAsync(Addresses, port));
    }

    [Fact]
    public async Task The_first_address_is_taken_while_it_answers_and_the_second_when_the_first_refuses()
    {
        var first = Listen(Addresses[0], port: 0);
        var port = ((IPEndPoint)first.LocalEndPoint!).Port;
        var second = Listen(Addresses[1], port);

        Assert.Equal(Addresses[0], await ConnectAsync(Addresses, port));
        Assert.False(second.Poll(0, SelectMode.SelectRead));

        first.Dispose();
        Assert.Equal(Addresses[1], await ConnectAsync(Addresses, port));
    }

    [Fact]
    public async Task When_no_address_takes_it_the_first_failure_is_told_or_the_limit_ends_it()
    {
        var port = await SwallowAsync(Addresses[0], port: 0);

        // The second one refuses, and the first may still answer.
        var ended = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => ConnectAsync(Addresses, port));
        Assert.Equal(_limit.Token, ended.CancellationToken);

        var refused = await Assert.ThrowsAsync<SocketException>(
            async () => await AddressRace.ConnectAsync([Addresses[1], Addresses[1]], port, CancellationToken.None));
        Assert.Equal(SocketError.ConnectionRefused, refused.SocketErrorCode);
    }

    private async Task<IPAddress> ConnectAsync(IPAddress[] addresses, int port)
    {
        await using var stream = (NetworkStream)await AddressRace.ConnectAsync(addresses, port, _limit.Token);
        return ((IPEndPoint)stream.Socket.RemoteEndPoint!).Address;
    }

    // A listener whose backlog is full answers no further connection.
    private async Task<int> SwallowAsync(IPAddress address, int port)
    {
        var listener = Listen(address, port, backlog: 0);
        var filler = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        _sockets.Add(filler);
        await filler.ConnectAsync(listener.LocalEndPoint!);
        return ((IPEndPoint)listener.LocalEndPoint!).Port;
    }

    private Socket Listen(IPAddress address, int port, int backlog = 10)
    {
        var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        _sockets.Add(listener);
        listener.Bind(new IPEndPoint(address, port));
        listener.Listen(backlog);
        return listener;
    }
}
