namespace PaymentGateway.Showing;

/// <summary>
/// The newest event for everybody who watches. Who publishes waits for nobody, and nothing is kept for who is slow:
/// they miss what came meanwhile. Safe from any thread.
/// </summary>
internal sealed class LiveEvents
{
    private LiveEvent _newest = new(0, [], NewSignal());

    /// <summary>The number of the newest event; 0 before the first.</summary>
    public long Newest => Volatile.Read(ref _newest).Number;

    /// <summary>Makes it the newest event.</summary>
    public void Publish(byte[] data)
    {
        var before = Volatile.Read(ref _newest);
        Volatile.Write(ref _newest, new LiveEvent(before.Number + 1, data, NewSignal()));
        before.Replaced.SetResult();
    }

    /// <summary>The newest event, once it is newer than <paramref name="seen"/>.</summary>
    public async ValueTask<LiveEvent> AfterAsync(long seen, CancellationToken cancellation)
    {
        while (true)
        {
            var newest = Volatile.Read(ref _newest);
            if (newest.Number > seen)
                return newest;

            await newest.Replaced.Task.WaitAsync(cancellation);
        }
    }

    private static TaskCompletionSource NewSignal() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}

/// <summary>An event; Replaced is set when a newer one has come.</summary>
internal sealed record LiveEvent(long Number, byte[] Data, TaskCompletionSource Replaced);
