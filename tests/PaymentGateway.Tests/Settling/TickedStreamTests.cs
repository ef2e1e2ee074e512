using System.Net;
using System.Net.Sockets;
using Microsoft.Extensions.Time.Testing;
using PaymentGateway.Settling;

namespace PaymentGateway.Tests.Settling;

/// <summary>Connections whose answers are looked for at ticks, against a real peer.</summary>
public sealed class TickedStreamTests : IAsyncLifetime, IDisposable
{
    private static readonly TimeSpan Soon = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan CallLimit = TimeSpan.FromSeconds(3);

    private readonly FakeTimeProvider clock = new();

    private readonly TcpListener listener = new(IPAddress.Loopback, 0);
    private readonly Ticker ticker = new(TimeSpan.FromMilliseconds(5), "test");
    private Stream stream = null!;
    private TcpClient peer = null!;

    private ProcessorConnector Connector => new(ticker, Soon, CallLimit, clock);

    private DnsEndPoint Address => new("localhost", ((IPEndPoint)listener.LocalEndpoint).Port);

    public async Task InitializeAsync()
    {
        listener.Start();
        stream = await Connector.ConnectAsync(Address, default);
        peer = await listener.AcceptTcpClientAsync();
    }

    public async Task DisposeAsync()
    {
        peer.Dispose();
        await stream.DisposeAsync();
    }

    public void Dispose()
    {
        ticker.Dispose();
        listener.Dispose();
    }

    [Fact]
    public async Task An_answer_comes_whole_in_however_many_pieces_it_was_sent()
    {
        var buffer = new byte[8];
        await stream.WriteAsync("ask"u8.ToArray());
        var reading = stream.ReadAtLeastAsync(buffer, 6).AsTask();
        Assert.Equal(3, await peer.GetStream().ReadAtLeastAsync(new byte[3], 3));

        await peer.GetStream().WriteAsync("ans"u8.ToArray());
        await Task.Delay(20);
        Assert.False(reading.IsCompleted);
        await peer.GetStream().WriteAsync("wer"u8.ToArray());

        Assert.Equal(6, await reading.WaitAsync(Soon));
        Assert.Equal("answer"u8.ToArray(), buffer[..6]);
    }

    [Fact]
    public async Task Without_a_request_the_look_for_the_peers_end_rests_until_the_next_request()
    {
        var look = stream.ReadAsync(Memory<byte>.Empty).AsTask();
        peer.Client.Shutdown(SocketShutdown.Send);
        await Task.Delay(50);
        Assert.False(look.IsCompleted);

        await stream.WriteAsync("ask"u8.ToArray());

        Assert.Equal(0, await look.WaitAsync(Soon));
        Assert.Equal(0, await stream.ReadAsync(new byte[8]).AsTask().WaitAsync(Soon));
    }

    [Fact]
    public async Task More_than_the_sockets_hold_is_written_as_the_peer_reads()
    {
        var sent = new byte[16 << 20];
        Random.Shared.NextBytes(sent);
        var writing = stream.WriteAsync(sent).AsTask();
        Assert.False(writing.IsCompleted);

        var received = new byte[sent.Length];
        await peer.GetStream().ReadExactlyAsync(received).AsTask().WaitAsync(Soon);

        await writing.WaitAsync(Soon);
        Assert.True(sent.AsSpan().SequenceEqual(received));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Its_disposal_ends_a_read(bool isResting)
    {
        if (!isResting)
            await stream.WriteAsync("ask"u8.ToArray());
        var reading = stream.ReadAsync(isResting ? Memory<byte>.Empty : new byte[8]).AsTask();

        await stream.DisposeAsync();

        await Assert.ThrowsAsync<IOException>(() => reading.WaitAsync(Soon));
    }

    [Fact]
    public async Task A_cancellation_ends_a_read()
    {
        using var cancellation = new CancellationTokenSource();
        var reading = stream.ReadAsync(new byte[8], cancellation.Token).AsTask();

        await cancellation.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => reading.WaitAsync(Soon));
    }

    [Fact]
    public async Task An_answer_that_trickles_in_for_longer_than_the_limit_ends_a_read()
    {
        await stream.WriteAsync("ask"u8.ToArray());
        clock.Advance(CallLimit - TimeSpan.FromMilliseconds(1));
        await peer.GetStream().WriteAsync("a"u8.ToArray());
        Assert.Equal(1, await stream.ReadAsync(new byte[8]).AsTask().WaitAsync(Soon));

        clock.Advance(TimeSpan.FromMilliseconds(1));

        await Assert.ThrowsAsync<IOException>(() => stream.ReadAsync(new byte[8]).AsTask().WaitAsync(Soon));
    }

    [Fact]
    public async Task A_late_answer_that_has_something_at_each_look_ends_a_read_all_the_same()
    {
        await stream.WriteAsync("ask"u8.ToArray());
        clock.Advance(CallLimit);
        await peer.GetStream().WriteAsync(new byte[64]);

        await Assert.ThrowsAsync<IOException>(async () =>
        {
            for (var i = 0; i < 64; i++)
                Assert.Equal(1, await stream.ReadAsync(new byte[1]).AsTask().WaitAsync(Soon));
        });
    }

    [Fact]
    public async Task A_connection_that_was_idle_for_longer_than_the_limit_takes_the_next_request()
    {
        // The pool of connections reads before it writes; no second tick falls between the two.
        using var slow = new Ticker(TimeSpan.FromSeconds(1), "slow");
        var connector = new ProcessorConnector(slow, Soon, CallLimit, clock);
        await using var idle = await connector.ConnectAsync(Address, default);
        using var other = await listener.AcceptTcpClientAsync();
        clock.Advance(2 * CallLimit);
        var reading = idle.ReadAsync(new byte[8]).AsTask();
        await idle.WriteAsync("ask"u8.ToArray());
        await other.GetStream().WriteAsync("answer"u8.ToArray());

        Assert.Equal(6, await reading.WaitAsync(Soon));
    }

    [Fact]
    public async Task A_peer_that_does_not_take_the_request_in_time_ends_a_write()
    {
        var writing = stream.WriteAsync(new byte[16 << 20]).AsTask();
        Assert.False(writing.IsCompleted);

        clock.Advance(CallLimit);

        await Assert.ThrowsAsync<IOException>(() => writing.WaitAsync(Soon));
    }

    [Fact]
    public async Task The_tickers_end_ends_a_read()
    {
        var reading = stream.ReadAsync(new byte[8]).AsTask();

        ticker.Dispose();

        await Assert.ThrowsAsync<IOException>(() => reading.WaitAsync(Soon));
        await Assert.ThrowsAsync<IOException>(() => stream.ReadAsync(new byte[8]).AsTask().WaitAsync(Soon));
    }

    [Fact]
    public async Task A_reset_by_the_peer_is_an_error()
    {
        await stream.WriteAsync("ask"u8.ToArray());
        peer.Client.LingerState = new LingerOption(true, 0);
        peer.Client.Close();

        await Assert.ThrowsAsync<IOException>(() => stream.ReadAsync(new byte[8]).AsTask().WaitAsync(Soon));
    }

    [Fact]
    public async Task A_refused_connection_says_so()
    {
        var address = Address;
        listener.Stop();

        var refused = await Assert.ThrowsAsync<SocketException>(
            () => Connector.ConnectAsync(address, default).AsTask());

        Assert.Equal(SocketError.ConnectionRefused, refused.SocketErrorCode);
    }
}
