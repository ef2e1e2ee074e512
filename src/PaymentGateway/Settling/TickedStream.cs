using System.Net.Sockets;
using System.Runtime.CompilerServices;

namespace PaymentGateway.Settling;

/// <summary>
/// A connection to a processor that looks for answers at the ticks of a <see cref="Ticker"/>: nobody waits for the
/// answer to a charge, and a socket that the runtime watches wakes a thread for each (docs/decisions.md, 41). One
/// reader and one writer at a time.
/// </summary>
/// <param name="socket">Connected and not blocking; owned from here.</param>
/// <param name="ticker">At its ticks the socket is looked at.</param>
/// <param name="limit">From a request's first byte to its answer's last, however that trickles in.</param>
/// <param name="clock">Its monotonic time counts.</param>
internal sealed class TickedStream(Socket socket, Ticker ticker, TimeSpan limit, TimeProvider clock) : Stream
{
    // The pool of connections begins to read a moment before it writes the request, which puts an end to being late.
    private const int LateLooksMax = 3;

    private readonly object gate = new();
    private long askedAt = clock.GetTimestamp();
    private volatile int lateLooks;
    private volatile bool answerDue;
    private volatile bool disposed;
    private TaskCompletionSource? resting;

    public override bool CanRead => true;

    public override bool CanWrite => true;

    public override bool CanSeek => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    /// <summary>
    /// Gives what is there, else looks again from tick to tick; without a request under way it rests until the next.
    /// </summary>
    /// <param name="buffer">Empty: only whether there is something, which may be the connection's end.</param>
    /// <param name="cancellationToken">Is noticed at a tick.</param>
    /// <exception cref="IOException">
    /// The connection broke or was disposed, the answer took too long, or the ticker has ended.
    /// </exception>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        // Just after a request there is no answer yet.
        var waits = answerDue;
        while (true)
        {
            if (!waits)
            {
                ThrowIfLate();
                if (TryRead(buffer.Span, out var read))
                    return read;
            }

            waits = false;
            if (Rest(buffer.IsEmpty) is { } rest)
                await rest;
            else
                await ticker.NextAsync();
            ThrowIfOver(cancellationToken);
        }
    }

    /// <summary>Sends a request, whole in one call.</summary>
    /// <exception cref="IOException">
    /// The connection broke or was disposed, the peer took too long, or the ticker has ended.
    /// </exception>
    public override async ValueTask WriteAsync(
        ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        Volatile.Write(ref askedAt, clock.GetTimestamp());
        lateLooks = 0;
        Wake();
        while (true)
        {
            buffer = buffer[Send(buffer.Span)..];
            if (buffer.IsEmpty)
                return;

            await ticker.NextAsync();
            ThrowIfOver(cancellationToken);
            if (IsLate)
                throw new IOException($"The request was not taken within {limit}.");
        }
    }

    public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public override void Flush()
    {
    }

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    protected override void Dispose(bool disposing)
    {
        disposed = true;
        socket.Dispose();
        Wake();
        base.Dispose(disposing);
    }

    private bool IsLate => clock.GetElapsedTime(Volatile.Read(ref askedAt)) >= limit;

    // Empty: the pool of connections asks whether the peer has closed one that is idle.
    private bool TryRead(Span<byte> buffer, out int read)
    {
        try
        {
            var error = SocketError.Success;
            read = buffer.IsEmpty ? 0 : socket.Receive(buffer, SocketFlags.None, out error);
            if (error is not (SocketError.Success or SocketError.WouldBlock))
                throw new SocketException((int)error);
            if (error == SocketError.WouldBlock
                || (buffer.IsEmpty && !socket.Poll(TimeSpan.Zero, SelectMode.SelectRead)))
                return false;

            answerDue = false;
            return true;
        }
        catch (Exception broken) when (broken is SocketException or ObjectDisposedException)
        {
            throw new IOException(broken.Message, broken);
        }
    }

    private int Send(ReadOnlySpan<byte> bytes)
    {
        try
        {
            var sent = socket.Send(bytes, SocketFlags.None, out var error);
            return error is SocketError.Success or SocketError.WouldBlock
                ? sent
                : throw new SocketException((int)error);
        }
        catch (Exception broken) when (broken is SocketException or ObjectDisposedException)
        {
            throw new IOException(broken.Message, broken);
        }
    }

    // After its end a ticker holds nobody up, and looking again and again would take a whole core.
    private void ThrowIfOver(CancellationToken cancellation)
    {
        cancellation.ThrowIfCancellationRequested();
        if (ticker.IsStopped)
            throw new IOException("The gateway ends, and its connections with it.");
    }

    private void ThrowIfLate()
    {
        if (IsLate && ++lateLooks >= LateLooksMax)
            throw new IOException($"No whole answer within {limit}.");
    }

    // No request is under way and the pool of connections only asks whether this one is closed: the next one will tell.
    private Task? Rest(bool isIdleCheck)
    {
        lock (gate)
            return isIdleCheck && !answerDue && !disposed ? (resting ??= new TaskCompletionSource()).Task : null;
    }

    private void Wake()
    {
        TaskCompletionSource? rest;
        lock (gate)
        {
            answerDue = true;
            (rest, resting) = (resting, null);
        }

        rest?.SetResult();
    }
}
