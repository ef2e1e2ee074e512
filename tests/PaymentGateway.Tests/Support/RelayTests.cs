using System.Net;
using System.Net.Sockets;

namespace PaymentGateway.Tests.Support;

/// <summary>The relay passes what it should, loses what it is told to, and never lets a hole go unseen.</summary>
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
    public async Task A_relay_passes_bytes_and_the_end_of_a_connection_both_ways()
    {
        await _client.SendAsync(new byte[] { 1 });
        Assert.Equal(1, await ReadAsync(_served));
        await _served.SendAsync(new byte[] { 2 });
        Assert.Equal(2, await ReadAsync(_client));

        _client.Shutdown(SocketShutdown.Send);

        Assert.Null(await ReadAsync(_served));
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

    [Fact]
    public async Task A_connection_that_lost_no_bytes_goes_on_after_a_fault()
    {
        _relay.Set(new RelayFault(DropsAnswers: true));
        _relay.Heal();

        await _client.SendAsync(new byte[] { 3 });

        Assert.Equal(3, await ReadAsync(_served));
        Assert.Equal(0, _relay.Resets);
    }

    [Fact]
    public async Task A_delayed_relay_passes_everything_in_order()
    {
        _relay.Set(new RelayFault(Delay: TimeSpan.FromMilliseconds(1)));

        for (byte at = 1; at < 20; at++)
            await _client.SendAsync(new[] { at });

        for (var at = 1; at < 20; at++)
            Assert.Equal(at, await ReadAsync(_served));
        Assert.True(_relay.Delayed > 0);
    }

    private static async Task<int?> ReadAsync(Socket from)
    {
        var one = new byte[1];
        using var limit = new CancellationTokenSource(TimeSpan.FromSeconds(20));
        return await from.ReceiveAsync(one, limit.Token) == 0 ? null : one[0];
    }
}
