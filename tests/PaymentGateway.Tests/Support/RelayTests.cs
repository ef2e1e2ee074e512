namespace PaymentGateway.Tests.Support;

public sealed class RelayTests : IAsyncLifetime, IDisposable
{
    private readonly Socket _target = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private Relay _relay = null!;
    private Socket _client = null!;
    private Socket _served = null!;

    public async Task InitializeAsync()
    {
        _target.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _target.Listen();
        _relay = new Relay(new IPEndPoint(IPAddress.Loopback, 0), () => _target.LocalEndPoint!);
        _client = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await _client.ConnectAsync(_relay.Address);
        _served = await _target.AcceptAsync();
    }

    public async Task DisposeAsync() => await _relay.DisposeAsync();

    public void Dispose()
    {
        _client.Dispose();
        _served.Dispose();
        _target.Dispose();
    }

    [Fact]
    public async Task A_cut_resets_present_and_new_connections()
    {
        _relay.Set(new RelayFault(Cut: true));

        await Assert.ThrowsAsync<SocketException>(() => ReadAsync(_client));
        using var next = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await Assert.ThrowsAsync<SocketException>(async () =>
        {
            // The reset may come before the connection is known to be made.
            await next.ConnectAsync(_relay.Address);
            await ReadAsync(next);
        });
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task One_direction_alone_may_lose_bytes_and_the_gap_ends_the_connection(bool answers)
    {
        _relay.Set(new RelayFault(DropsRequests: !answers, DropsAnswers: answers));
        var (lost, passed) = answers ? (_served, _client) : (_client, _served);
        await passed.SendAsync(new byte[] { 1 });
        Assert.Equal(1, await ReadAsync(lost));
        await lost.SendAsync(new byte[] { 2 });
        await Eventually.HoldsAsync(() => _relay.Dropped == 1, "it is lost");

        _relay.Heal();

        await Assert.ThrowsAsync<SocketException>(() => ReadAsync(passed));
    }

    [Fact]
    public async Task A_half_open_relay_does_not_even_pass_the_end()
    {
        _relay.Set(new RelayFault(DropsRequests: true, DropsAnswers: true));
        _client.Shutdown(SocketShutdown.Send);
        var read = ReadAsync(_served);
        await Eventually.HoldsAsync(() => _relay.SwallowedEnds == 1, "the end has come");
        Assert.False(read.IsCompleted);

        _relay.Heal();

        await Assert.ThrowsAsync<SocketException>(() => read);
    }

    private static async Task<int?> ReadAsync(Socket from)
    {
        var one = new byte[1];
        using var limit = new CancellationTokenSource(TimeSpan.FromSeconds(20));
        return await from.ReceiveAsync(one, limit.Token) == 0 ? null : one[0];
    }
}
