using System.Threading.Channels;
using PaymentGateway.Owning;
using PaymentGateway.Recording;

namespace PaymentGateway.Settling;

/// <summary>
/// Writes outcomes into the books in batches, again and again until they are in. Any thread may add.
/// </summary>
internal sealed partial class SettlementWriter(
    SettlementLedger ledger, OpenPayments open, Lease lease, RecordingOptions options, TimeProvider clock,
    ILogger<SettlementWriter> log) : BackgroundService
{
    private static readonly TimeSpan RetryFirst = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan RetryMost = TimeSpan.FromSeconds(2);

    // Whoever adds an outcome begins the wait for more: a hop to another thread costs more.
    private readonly Channel<Settlement> outcomes = Channel.CreateUnbounded<Settlement>(
        new UnboundedChannelOptions { SingleReader = true, AllowSynchronousContinuations = true });

    private readonly Ticker gathering = new(options.Gather, "outcomes");
    private int buffered;

    /// <summary>False: the database is behind, so nothing more may be charged.</summary>
    public bool HasRoom => Volatile.Read(ref buffered) < options.MaxBuffered;

    /// <summary>Takes an outcome; it is never dropped while the process lives.</summary>
    public void Add(Settlement settlement)
    {
        Interlocked.Increment(ref buffered);
        outcomes.Writer.TryWrite(settlement);
    }

    /// <summary>Lets the last outcomes be written, within the host's limit.</summary>
    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        outcomes.Writer.TryComplete();
        if (ExecuteTask is { } writing)
            await Task.WhenAny(writing, Task.Delay(Timeout.InfiniteTimeSpan, clock, cancellationToken));
        await base.StopAsync(cancellationToken);
    }

    public override void Dispose()
    {
        gathering.Dispose();
        base.Dispose();
    }

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        var batch = new List<Settlement>(options.MaxBatch);
        while (await outcomes.Reader.WaitToReadAsync(stoppingToken))
        {
            // Nobody waits for the books, and one statement for many costs less than many.
            if (!outcomes.Reader.Completion.IsCompleted)
                await gathering.NextAsync();

            while (batch.Count < options.MaxBatch && outcomes.Reader.TryRead(out var settlement))
                batch.Add(settlement);
            await WriteAsync(batch, stoppingToken);
            foreach (var settlement in batch)
                open.Remove(settlement.Payment);
            Interlocked.Add(ref buffered, -batch.Count);
            batch.Clear();
        }
    }

    private async Task WriteAsync(List<Settlement> batch, CancellationToken stopping)
    {
        batch.Sort(static (one, other) => one.Payment.Id.CompareTo(other.Payment.Id));
        var wait = RetryFirst;
        while (true)
        {
            try
            {
                var args = ToArgs(batch);
                if (await ledger.RecordAsync(args) == batch.Count)
                    return;

                // Known before, or purged: well. Or a crash of the database emptied the books: then the keeper stores
                // the payments again, and the outcomes find them at the second try.
                await lease.NextCheckAsync(stopping);
                await ledger.RecordAsync(args);
                return;
            }
            catch (Exception away) when (away is not OperationCanceledException)
            {
                // Perhaps it was committed all the same; repeating is safe, the key lets each enter once.
                Log.RecordingFailed(log, batch.Count, wait, away.Message);
                await Task.Delay(wait, clock, stopping);
                wait = wait * 2 < RetryMost ? wait * 2 : RetryMost;
            }
        }
    }

    private RecordArgs ToArgs(List<Settlement> batch)
    {
        var args = new RecordArgs(
            new Guid[batch.Count], new short[batch.Count], new long[batch.Count], new DateTime[batch.Count],
            new DateTime[batch.Count], lease.Epoch);
        for (var i = 0; i < batch.Count; i++)
        {
            args.Ids[i] = batch[i].Payment.Id;
            args.Processors[i] = (short)batch[i].Processor;
            args.AmountsCents[i] = batch[i].AmountCents;
            args.RequestedAts[i] = batch[i].RequestedAt;
            args.AcceptedAts[i] = batch[i].Payment.AcceptedAt;
        }

        return args;
    }

    private static partial class Log
    {
        [LoggerMessage(500, LogLevel.Warning, "{Count} outcomes could not be written, next try in {Wait}: {Reason}")]
        public static partial void RecordingFailed(ILogger log, int count, TimeSpan wait, string reason);
    }
}

/// <summary>A payment as a processor has stored it: its amount and UTC requestedAt are the processor's.</summary>
internal sealed record Settlement(Payment Payment, Processor Processor, long AmountCents, DateTime RequestedAt);
