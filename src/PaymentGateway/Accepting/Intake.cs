namespace PaymentGateway.Accepting;

/// <summary>
/// Takes payments in by group commit: what waits goes into the next INSERT together, and a lone payment goes at
/// once. Acknowledged means stored (or received, where that is set). Safe from any thread.
/// </summary>
internal sealed class Intake(IntakeWriter writer, IntakeOptions options, TimeProvider clock) : IHostedService
{
    private static readonly TimeSpan LeastWait = TimeSpan.FromMilliseconds(50);

    private readonly object gate = new();
    private List<PendingAcceptance> waiting = [];
    private int underWay;
    private int stuck;

    private bool AcknowledgesReceived => options.Acknowledge == Acknowledge.Received;

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>The listener is closed by now; what was received and not yet stored is stored.</summary>
    public async Task StopAsync(CancellationToken cancellationToken)
    {
        while (!IsIdle && !cancellationToken.IsCancellationRequested)
            await Task.Delay(TimeSpan.FromMilliseconds(10), clock, CancellationToken.None);
    }

    /// <summary>Takes one payment in.</summary>
    /// <returns>
    /// Within StoreTimeout; Accepted only when the row is committed (Stored) or held in memory (Received).
    /// </returns>
    public ValueTask<AcceptResult> AcceptAsync(Guid id, long amountCents)
    {
        var acceptance = new PendingAcceptance(id, amountCents, clock.GetTimestamp());
        List<PendingAcceptance>? batch;
        lock (gate)
        {
            // While a statement does not answer, waiting would only be a slower no.
            if (waiting.Count >= options.MaxWaiting || stuck > 0)
                return new ValueTask<AcceptResult>(AcceptResult.Overloaded);

            waiting.Add(acceptance);
            batch = TakeBatch_NeedsLock();
        }

        if (batch is not null)
            _ = RunAsync(batch);
        return AcknowledgesReceived ? new ValueTask<AcceptResult>(AcceptResult.Accepted) : acceptance.Result;
    }

    private bool IsIdle
    {
        get
        {
            lock (gate)
                return waiting.Count == 0 && underWay == 0;
        }
    }

    private List<PendingAcceptance>? TakeBatch_NeedsLock()
    {
        if (waiting.Count == 0 || underWay >= options.MaxBatchesInFlight)
            return null;

        // Received payments gather first, so that they share a statement: a second place is for a full batch only.
        if (AcknowledgesReceived && underWay > 0 && waiting.Count < options.MaxBatch)
            return null;

        underWay++;
        return AcknowledgesReceived ? [] : Fill_NeedsLock([]);
    }

    private List<PendingAcceptance> Fill_NeedsLock(List<PendingAcceptance> batch)
    {
        if (batch.Count == 0 && waiting.Count <= options.MaxBatch)
        {
            (batch, waiting) = (waiting, batch);
            return batch;
        }

        var take = Math.Min(waiting.Count, options.MaxBatch);
        batch.AddRange(waiting.GetRange(0, take));
        waiting.RemoveRange(0, take);
        return batch;
    }

    private async Task RunAsync(List<PendingAcceptance>? batch)
    {
        while (batch is not null)
        {
            if (AcknowledgesReceived)
            {
                await Task.Delay(options.ReceivedGather, clock);
                lock (gate)
                    batch = Fill_NeedsLock(batch);
            }

            if (batch.Count > 0)
                await StoreAsync(batch);

            lock (gate)
            {
                underWay--;
                batch = TakeBatch_NeedsLock();
            }
        }
    }

    // Bounds the clients' wait without giving the statement up: what it stores is settled all the same.
    private async Task StoreAsync(List<PendingAcceptance> batch)
    {
        // The first is the oldest, and it may have waited for a place already.
        var limit = options.StoreTimeout - clock.GetElapsedTime(batch[0].ArrivedAt);
        var storing = writer.StoreAsync(batch);
        try
        {
            // Received payments are acknowledged already: they wait for as long as it takes.
            await (AcknowledgesReceived || storing.IsCompleted
                ? storing
                : storing.WaitAsync(limit > LeastWait ? limit : LeastWait, clock));
        }
        catch (TimeoutException)
        {
            lock (gate)
                stuck++;
            PendingAcceptance.CompleteAll(batch, AcceptResult.Unavailable);
            RefuseWaiting();
            await storing;
            lock (gate)
                stuck--;
        }
    }

    private void RefuseWaiting()
    {
        List<PendingAcceptance> refused;
        lock (gate)
            (refused, waiting) = (waiting, []);

        PendingAcceptance.CompleteAll(refused, AcceptResult.Unavailable);
    }
}
