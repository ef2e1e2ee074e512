using System.Threading.Channels;
using PaymentGateway.Leasing;

namespace PaymentGateway.Recording;

/// <summary>
/// Outcomes that this instance knows and the ledger does not have yet. Any thread may add and wait; one takes.
/// </summary>
internal sealed class UnwrittenOutcomes(RecordingOptions options, TimeProvider clock)
{
    // The audit closes a window after 1.5 s, so an older outcome must not linger.
    private static readonly TimeSpan LateAfter = TimeSpan.FromSeconds(1);

    // The reader continues on the adding thread, because a hop costs more than starting to linger.
    private readonly Channel<Settlement> _added = Channel.CreateUnbounded<Settlement>(
        new UnboundedChannelOptions { SingleReader = true, AllowSynchronousContinuations = true });

    private readonly AsyncAutoResetEvent _lingeringEnds = new(clock);
    private readonly object _gate = new();
    private readonly HashSet<Settlement> _unwritten = new(ReferenceEqualityComparer.Instance);
    private TaskCompletionSource? _batchWritten;

    /// <summary>False while the database is behind; then nothing more may be charged.</summary>
    public bool HasCapacity => Count < options.MaxBuffered;

    public int Count
    {
        get
        {
            lock (_gate)
                return _unwritten.Count;
        }
    }

    /// <summary>Adds an outcome; later summaries of this instance include it.</summary>
    public void Add(Settlement settlement)
    {
        lock (_gate)
            _unwritten.Add(settlement);
        _added.Writer.TryWrite(settlement);
        if (clock.GetUtcNow().UtcDateTime - settlement.RequestedAt >= LateAfter)
            _lingeringEnds.Set();
    }

    /// <summary>No batch has outcomes that are added later; waiting ones stop lingering.</summary>
    public void Complete()
    {
        _added.Writer.TryComplete();
        _lingeringEnds.Set();
    }

    /// <summary>Waits for outcomes, lets them linger, and fills an empty batch.</summary>
    /// <returns>False when no outcome will follow.</returns>
    public async ValueTask<bool> TakeAsync(List<Settlement> batch, CancellationToken cancellation)
    {
        if (!await _added.Reader.WaitToReadAsync(cancellation))
            return false;

        // One statement for many outcomes costs less.
        if (options.Linger > TimeSpan.Zero)
            await _lingeringEnds.WaitAsync(options.Linger, cancellation);
        while (batch.Count < options.MaxBatch && _added.Reader.TryRead(out var settlement))
            batch.Add(settlement);
        return true;
    }

    /// <summary>Removes outcomes that the ledger has.</summary>
    public void Remove(List<Settlement> batch)
    {
        TaskCompletionSource? over;
        lock (_gate)
        {
            _unwritten.ExceptWith(batch);
            (over, _batchWritten) = (_batchWritten, null);
        }

        over?.SetResult();
    }

    /// <summary>Completes when the ledger has every outcome that is known now, up to a requestedAt.</summary>
    /// <param name="until">The latest requestedAt, UTC; null is no limit.</param>
    public async Task WrittenAsync(DateTime? until)
    {
        List<Settlement> awaited;
        lock (_gate)
            awaited = _unwritten.Where(one => !(one.RequestedAt > until)).ToList();
        while (true)
        {
            Task written;
            lock (_gate)
            {
                awaited.RemoveAll(one => !_unwritten.Contains(one));
                if (awaited.Count == 0)
                    return;

                _batchWritten ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                written = _batchWritten.Task;
            }

            _lingeringEnds.Set();
            await written;
        }
    }
}

/// <summary>A payment as a processor has stored it: its amount and UTC requestedAt are the processor's.</summary>
/// <param name="Owner">The epoch that charged it; it is not at rest until the ledger has the outcome.</param>
internal sealed record Settlement(
    Epoch Owner, Payment Payment, Processor Processor, long AmountCents, DateTime RequestedAt);
