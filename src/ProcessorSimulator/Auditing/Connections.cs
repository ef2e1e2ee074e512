using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;

namespace ProcessorSimulator.Auditing;

/// <summary>
/// Leaves connections unanswered for a time, as a host does that is not there; any thread may call it.
/// </summary>
internal sealed class Connections : IDisposable
{
    // Linux's socket options, which .NET has no names for.
    private const int SocketLevel = 1;
    private const int AttachFilter = 26;
    private const int DetachFilter = 27;

    // A program of one instruction, BPF_RET with 0: not a byte of any packet passes, so a SYN gets no answer.
    private const long DropEach = 0x06;

    private readonly ConcurrentBag<Socket> _listeners = [];
    private readonly ConcurrentDictionary<string, ConnectionContext> _open = new();
    private readonly ITimer _end;
    private volatile bool _unanswered;

    public Connections(TimeProvider clock) =>
        _end = clock.CreateTimer(_ => Answer(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);

    public Socket Listen(EndPoint endpoint)
    {
        var listener = SocketTransportOptions.CreateDefaultBoundListenSocket(endpoint);
        _listeners.Add(listener);
        return listener;
    }

    public ConnectionDelegate Follow(ConnectionDelegate next) => async connection =>
    {
        _open[connection.ConnectionId] = connection;
        // The kernel had made it before.
        if (_unanswered)
            connection.Abort();
        try
        {
            await next(connection);
        }
        finally
        {
            _open.TryRemove(connection.ConnectionId, out _);
        }
    };

    /// <param name="seconds">Null answers them again.</param>
    /// <param name="caller">The connection that stays open.</param>
    public void LeaveUnanswered(int? seconds, string caller)
    {
        Answer();
        if (seconds is not { } length)
            return;

        foreach (var listener in _listeners)
            Drop(listener);
        _unanswered = true;
        foreach (var (id, connection) in _open)
            if (id != caller)
                connection.Abort();
        _end.Change(TimeSpan.FromSeconds(length), Timeout.InfiniteTimeSpan);
    }

    public void Dispose() => _end.Dispose();

    private void Answer()
    {
        _end.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        _unanswered = false;
        foreach (var listener in _listeners)
        {
            try
            {
                listener.SetRawSocketOption(SocketLevel, DetachFilter, new byte[sizeof(int)]);
            }
            catch (SocketException)
            {
                // No filter is attached.
            }
        }
    }

    private static void Drop(Socket listener)
    {
        // The kernel copies the program, whose length and address are what it is given.
        var program = Marshal.AllocHGlobal(sizeof(long));
        try
        {
            Marshal.WriteInt64(program, DropEach);
            var given = new byte[2 * sizeof(long)];
            BitConverter.TryWriteBytes(given, 1L);
            BitConverter.TryWriteBytes(given.AsSpan(sizeof(long)), program);
            listener.SetRawSocketOption(SocketLevel, AttachFilter, given);
        }
        finally
        {
            Marshal.FreeHGlobal(program);
        }
    }
}
