using System.Threading.Channels;
using PaymentGateway.Configuring;
using PaymentGateway.Timing;

namespace PaymentGateway.Recording;

/// <summary>
/// The outcomes that this instance knows and the ledger does not have yet. Any thread may add and wait; one takes.
/// </summary>
internal sealed class UnwrittenOutcomes(RecordingOptions options, TimeProvider clock) : IDisposable
{
    // The audit closes its windows after 1.5 s: what is older than this has no time left to linger.
    private static readonly TimeSpan LateAfter = TimeSpan.FromSeconds(1);

    // Whoever adds an outcome begins the wait for more: a hop to another thread costs more.
    private readonly Channel<Settlement> added = Channel.CreateUnbounded<Settlement>(
        new UnboundedChannelOptions { SingleReader = true, AllowSynchronousContinuations = true });

    private readonly BatchTimer batchTimer = new(options.Linger, "outcomes");
    private readonly object gate = new();
    private readonly HashSet<Settlement> unwritten = new(ReferenceEqualityComparer.Instance);
    private TaskCompletionSource? batchWritten;

    /// <summary>False: the database is behind.</summary>
    public bool HasCapacity => Count < options.MaxBuffered;

    public int Count
    {
        get
        {
            lock (gate)
                return unwritten.Count;
        }
    }

    /// <summary>From here on no summary is answered without it.</summary>
    public void Add(Settlement settlement)
    {
        lock (gate)
            unwritten.Add(settlement);
        added.Writer.TryWrite(settlement);
        if (clock.GetUtcNow().UtcDateTime - settlement.RequestedAt >= LateAfter)
            batchTimer.FireNow();
    }

    /// <summary>Nothing is added any more, and what is here need not wait.</summary>
    public void Complete()
    {
        added.Writer.TryComplete();
        batchTimer.FireNow();
    }

    /// <summary>Waits for outcomes, and for more to come, and fills an empty batch with them.</summary>
    /// <returns>False when there will be none any more.</returns>
    public async ValueTask<bool> TakeAsync(List<Settlement> batch, CancellationToken cancellation)
    {
        if (!await added.Reader.WaitToReadAsync(cancellation))
            return false;

        // One statement for many costs less than many.
        await batchTimer.NextAsync();
        while (batch.Count < options.MaxBatch && added.Reader.TryRead(out var settlement))
            batch.Add(settlement);
        return true;
    }

    /// <summary>The ledger has them.</summary>
    public void Remove(List<Settlement> batch)
    {
        TaskCompletionSource? over;
        lock (gate)
        {
            unwritten.ExceptWith(batch);
            (over, batchWritten) = (batchWritten, null);
        }

        over?.SetResult();
    }

    /// <summary>Ends when the ledger has everything that is known now and was requested up to then.</summary>
    /// <param name="until">UTC; null is all.</param>
    public async Task WrittenAsync(DateTime? until)
    {
        List<Settlement> awaited;
        lock (gate)
            awaited = unwritten.Where(one => !(one.RequestedAt > until)).ToList();
        while (true)
        {
            Task written;
            lock (gate)
            {
                awaited.RemoveAll(one => !unwritten.Contains(one));
                if (awaited.Count == 0)
                    return;

                batchWritten ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                written = batchWritten.Task;
            }

            batchTimer.FireNow();
            await written;
        }
    }

    public void Dispose() => batchTimer.Dispose();
}

/// <summary>A payment as a processor has stored it: its amount and UTC requestedAt are the processor's.</summary>
internal sealed record Settlement(Payment Payment, Processor Processor, long AmountCents, DateTime RequestedAt);
