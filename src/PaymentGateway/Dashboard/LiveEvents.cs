using System.Threading.Channels;

namespace PaymentGateway.Dashboard;

/// <summary>
/// The newest event for everybody who watches: whoever publishes waits for nobody, and a slow watcher misses events.
/// Safe from any thread.
/// </summary>
internal sealed class LiveEvents
{
    /// <summary>How many may watch one instance at once.</summary>
    public const int WatchersMax = 16;

    private static readonly BoundedChannelOptions NewestOnly = new(1) { FullMode = BoundedChannelFullMode.DropOldest };

    private readonly HashSet<Channel<byte[]>> _watchers = [];

    public bool AreWatched
    {
        get
        {
            lock (_watchers)
                return _watchers.Count > 0;
        }
    }

    /// <summary>Events from now on, until <see cref="Leave"/>; null when too many watch already.</summary>
    public Channel<byte[]>? TryJoin()
    {
        lock (_watchers)
        {
            if (_watchers.Count == WatchersMax)
                return null;

            var joined = Channel.CreateBounded<byte[]>(NewestOnly);
            _watchers.Add(joined);
            return joined;
        }
    }

    public void Leave(Channel<byte[]> watcher)
    {
        lock (_watchers)
            _watchers.Remove(watcher);
    }

    public void Publish(byte[] data)
    {
        lock (_watchers)
            foreach (var watcher in _watchers)
                watcher.Writer.TryWrite(data);
    }
}
