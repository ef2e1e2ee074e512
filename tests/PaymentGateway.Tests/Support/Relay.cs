namespace PaymentGateway.Tests.Support;

/// <summary>A fault that a relay adds to the bytes that pass it.</summary>
/// <param name="Cut">Connections are reset, and new ones as soon as they come.</param>
/// <param name="DropsRequests">Bytes to the target are swallowed; the connection looks well.</param>
/// <param name="DropsAnswers">Bytes from the target are swallowed; both together make it half open.</param>
/// <param name="Delay">Each piece waits so long, in both directions.</param>
/// <param name="Splits">Each piece from the target comes in two, cut wherever, the second part 1 ms later.</param>
/// <param name="HoldAnswersUntil">Bytes from the target wait until this has ended.</param>
public sealed record RelayFault(
    bool Cut = false, bool DropsRequests = false, bool DropsAnswers = false, TimeSpan Delay = default,
    bool Splits = false, Task? HoldAnswersUntil = null)
{
    public static RelayFault None { get; } = new();

    /// <summary>Nothing passes, neither bytes nor the end of a connection.</summary>
    public bool IsHalfOpen => DropsRequests && DropsAnswers;

    public bool Drops(bool isAnswer) => isAnswer ? DropsAnswers : DropsRequests;
}

/// <summary>Passes bytes of TCP or Unix sockets. A connection that lost some is reset when the fault ends.</summary>
public sealed class Relay : IAsyncDisposable
{
    private const string PostgresSocket = ".s.PGSQL.5432";

    private static readonly TimeSpan SplitFor = TimeSpan.FromMilliseconds(1);

    private readonly Socket _listener;
    private readonly Func<EndPoint> _target;
    private readonly ConcurrentDictionary<Pair, bool> _pairs = new();
    private readonly CancellationTokenSource _ending = new();
    private readonly Task _accepting;
    private volatile RelayFault _fault = RelayFault.None;
    private long _dropped;
    private int _swallowedEnds;
    private long _delayed;
    private int _resets;
    private int _split;
    private int _held;

    /// <param name="target">Asked at each connection, so the target may come later.</param>
    public Relay(EndPoint address, Func<EndPoint> target)
    {
        _target = target;
        _listener = NewSocket(address);
        _listener.Bind(address);
        _listener.Listen();
        _accepting = AcceptAllAsync();
    }

    /// <summary>Listens in a directory as PostgreSQL does in its own.</summary>
    /// <param name="server">PostgreSQL's, which may be made later.</param>
    public static Relay ToPostgres(string directory, Func<string> server) => new(
        new UnixDomainSocketEndPoint(Path.Combine(directory, PostgresSocket)),
        () => new UnixDomainSocketEndPoint(Path.Combine(server(), PostgresSocket)));

    public EndPoint Address => _listener.LocalEndPoint!;

    public long Dropped => Interlocked.Read(ref _dropped);

    public int SwallowedEnds => Volatile.Read(ref _swallowedEnds);

    public long Delayed => Interlocked.Read(ref _delayed);

    public int Resets => Volatile.Read(ref _resets);

    public int Split => Volatile.Read(ref _split);

    public int Held => Volatile.Read(ref _held);

    public void Set(RelayFault next)
    {
        _fault = next;
        foreach (var (pair, _) in _pairs)
            if (next.Cut || pair.HasHole)
                Reset(pair);
    }

    /// <summary>As a NAT does: connections that exist pass nothing more, and nobody is told; new ones pass.</summary>
    public void Forget()
    {
        foreach (var (pair, _) in _pairs)
            pair.IsForgotten = true;
    }

    public void Heal() => Set(RelayFault.None);

    public async ValueTask DisposeAsync()
    {
        await _ending.CancelAsync();
        _listener.Dispose();
        foreach (var (pair, _) in _pairs)
            pair.Dispose();
        await _accepting;
        _ending.Dispose();
    }

    private static Socket NewSocket(EndPoint address) => new(
        address.AddressFamily, SocketType.Stream,
        address is UnixDomainSocketEndPoint ? ProtocolType.Unspecified : ProtocolType.Tcp);

    private async Task AcceptAllAsync()
    {
        while (!_ending.IsCancellationRequested)
        {
            try
            {
                var client = await _listener.AcceptAsync(_ending.Token);
                _ = ServeAsync(client);
            }
            catch (Exception over) when (
                over is OperationCanceledException or SocketException or ObjectDisposedException)
            {
                // Disposed, or a client that left before it was taken.
            }
        }
    }

    private async Task ServeAsync(Socket client)
    {
        var pair = new Pair(client);
        _pairs[pair] = true;
        try
        {
            if (_fault.Cut)
            {
                Reset(pair);
                return;
            }

            var address = _target();
            pair.Server = NewSocket(address);
            await pair.Server.ConnectAsync(address, _ending.Token);
            await Task.WhenAll(
                PumpAsync(pair, client, pair.Server, isAnswer: false),
                PumpAsync(pair, pair.Server, client, isAnswer: true));
        }
        catch (Exception broken) when (broken is SocketException or ObjectDisposedException
            or OperationCanceledException or IOException)
        {
            // A reset of one side's connection is passed to the other side.
            pair.Reset();
        }
        finally
        {
            _pairs.TryRemove(pair, out _);
            pair.Dispose();
        }
    }

    private async Task PumpAsync(Pair pair, Socket from, Socket to, bool isAnswer)
    {
        var buffer = new byte[16 * 1024];
        while (true)
        {
            int count;
            try
            {
                count = await from.ReceiveAsync(buffer, _ending.Token);
            }
            catch (SocketException)
            {
                pair.Reset();
                throw;
            }

            var now = _fault;
            if (now.Delay > TimeSpan.Zero)
            {
                Interlocked.Increment(ref _delayed);
                await Task.Delay(now.Delay, _ending.Token);
            }

            if (isAnswer && now.HoldAnswersUntil is { } until)
            {
                Interlocked.Increment(ref _held);
                await until.WaitAsync(_ending.Token);
            }

            if (pair.IsForgotten)
            {
                Interlocked.Add(ref _dropped, count);
                if (count == 0)
                    return;
                continue;
            }

            if (count == 0)
            {
                if (!now.IsHalfOpen)
                {
                    to.Shutdown(SocketShutdown.Send);
                    return;
                }

                pair.HasHole = true;
                Interlocked.Increment(ref _swallowedEnds);
                return;
            }

            if (pair.HasHole || _fault.Drops(isAnswer))
            {
                pair.HasHole = true;
                Interlocked.Add(ref _dropped, count);
                if (!_fault.Drops(isAnswer: true) && !_fault.Drops(isAnswer: false))
                    Reset(pair); // The fault ended meanwhile, and nobody saw the hole.
                continue;
            }

            var sent = 0;
            if (now.Splits && isAnswer && count > 1)
            {
                // Another place each time, so that in the end every place of every message has been one.
                sent = 1 + Interlocked.Increment(ref _split) % (count - 1);
                await SendAsync(to, buffer.AsMemory(0, sent));
                await Task.Delay(SplitFor, _ending.Token);
            }

            await SendAsync(to, buffer.AsMemory(sent, count - sent));
        }
    }

    private async Task SendAsync(Socket to, ReadOnlyMemory<byte> bytes)
    {
        while (bytes.Length > 0)
            bytes = bytes[await to.SendAsync(bytes, _ending.Token)..];
    }

    private void Reset(Pair pair)
    {
        Interlocked.Increment(ref _resets);
        pair.Reset();
    }

    private sealed class Pair(Socket client) : IDisposable
    {
        private volatile bool _hasHole;
        private volatile bool _isForgotten;

        public Socket? Server { get; set; }

        public bool HasHole
        {
            get => _hasHole;
            set => _hasHole = value;
        }

        public bool IsForgotten
        {
            get => _isForgotten;
            set => _isForgotten = value;
        }

        /// <summary>Without lingering: the peers see a reset and not a polite end.</summary>
        public void Reset()
        {
            foreach (var socket in new[] { client, Server })
            {
                try
                {
                    if (socket?.LocalEndPoint is IPEndPoint)
                        socket.LingerState = new LingerOption(enable: true, seconds: 0);
                    socket?.Dispose();
                }
                catch (Exception failed) when (failed is SocketException or ObjectDisposedException)
                {
                    // It is closed already.
                }
            }
        }

        public void Dispose()
        {
            client.Dispose();
            Server?.Dispose();
        }
    }
}
