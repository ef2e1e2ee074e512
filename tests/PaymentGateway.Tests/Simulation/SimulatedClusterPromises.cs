namespace PaymentGateway.Tests.Simulation;

/// <content>What is promised beside safety: when, where, how much, and who is told.</content>
internal sealed partial class SimulatedCluster
{
    /// <summary>
    /// A payment that was acknowledged is settled by then where one processor works, and nothing happens to the
    /// instances: the fallback delay of 10 s, and as much again to notice that another one does not work.
    /// </summary>
    private static readonly TimeSpan SettledWithin = TimeSpan.FromSeconds(30);

    // The audit closes its window then.
    private static readonly TimeSpan RecordedWithin = TimeSpan.FromSeconds(1.5);

    // The grace of a processor that has just recovered.
    private static readonly TimeSpan Recovered = TimeSpan.FromSeconds(3);

    // A health report counts for two intervals.
    private static readonly TimeSpan ReportForgotten = TimeSpan.FromSeconds(12);

    private readonly HashSet<(DateTime, Guid)> _told = [];
    private EventCursor? _feed;

    /// <summary>A processor has answered an instance that it has stored a payment.</summary>
    public void OnAnswered(SimulatedInstance instance, Guid id)
    {
        var (answeredAt, payment) = (Time.Now, _payments[id]);
        Network.After(RecordedWithin, () =>
        {
            if (instance.IsFree && instance.ShakenAt < answeredAt && payment is { PurgedAt: null, IsAnew: false }
                && _held is null && _delayed is null && !_hasLost
                && Rows().Exists(row => row.Id == id && row.Settlement is null))
                Violate($"{Name(id)} was charged, and is not in the ledger after {RecordedWithin}");
        });
    }

    /// <summary>A processor has answered 422. What an instance knows for a while outlasts it.</summary>
    public void OnTold(SimulatedInstance instance, Guid id, FaultyProcessor at)
    {
        var toldAt = Time.Now;
        Network.After(RecordedWithin, () =>
        {
            if (instance.IsFree && instance.ShakenAt < toldAt)
                at.Told.Add(id);
        });
    }

    // A payment that nobody was sent goes to the cheapest processor, as long as this works.
    private void CheckCheapestFirst(SimulatedInstance instance, Guid id, FaultyProcessor at)
    {
        var (payment, cheapest) = (_payments[id], Processors[0]);
        if (at == cheapest || payment.SentTo.Count > 0 || cheapest.WorksSince(instance.Who) is not { } since
            || Time.Now - since < Recovered || Time.Now - instance.ShakenAt < Recovered
            || cheapest.HealthySince is not { } healthy
            || (Knobs.PollsHealth && Time.Now - healthy < ReportForgotten)
            || Time.Now - _jumpedAt < ReportForgotten
            || Rows().Find(row => row.Id == id) is not { MayBeAt: null } row
            || cheapest.InFlight > 0 || instance.Epoch.Doubts.CountAt(cheapest.Processor) >= Knobs.DoubtsMax)
            return;

        Violate($"{Name(id)} goes to {at.Processor} first, and {cheapest.Processor} works, since {since}");
    }

    private void CheckSettledInTime(List<Row> rows)
    {
        if (_hasLost || Time.Now - _disturbedAt < SettledWithin || _held is not null || _delayed is not null
            || !Living().All(one => one.IsFree) || !Living().Any())
            return;

        var away = Processors.Where(one => one.HealthySince is not { } since || Time.Now - since < SettledWithin)
            .ToList();
        if (away.Count == Processors.Length)
            return;

        foreach (var row in rows.Where(row => row is { Settlement: null, Owner: > 0 }))
        {
            var payment = _payments[row.Id];
            if (IsInDoubtAt(away, row, payment))
                payment.InDoubtAt = Time.Now;
            var since = payment.InDoubtAt > payment.AcknowledgedAt ? payment.InDoubtAt : payment.AcknowledgedAt;
            if (payment is { PurgedAt: null, History.AcknowledgedCents: not null } && Time.Now - since > SettledWithin
                && !WaitingForAPayment().Exists(waiting => waiting.Id == row.Id))
                Violate(
                    $"{Name(row.Id)} waits for {Time.Now - since}, and only "
                    + $"{string.Join(", ", away.Select(one => one.Processor))} is away");
            else if (away.Count > 0)
                Marks.Reach("a payment waits for a processor that may have it");
        }
    }

    // Only the processor that may have it can end the doubt. An adopter that has all the doubts that it may have there
    // leaves further ones to their closed owner.
    private bool IsInDoubtAt(List<FaultyProcessor> away, Row row, Known payment) =>
        away.Exists(at => row.LeftAt.Contains(at.Processor)
            || ((row.MayBeAt > 0 || payment.SentTo.Contains(at.Processor)) && Living()
                .SelectMany(one => one.Epoch.Unsettled.Snapshot())
                .Any(one => one.Id == row.Id && one.MayBeAt.Contains(at.Processor))));

    /// <summary>
    /// The payments that wait for the next payment, because they are in doubt at several processors and their owner has
    /// no proof at any of these: the circuit there is open, or the ledger has no payment that is known to be there.
    /// </summary>
    private List<Payment> WaitingForAPayment()
    {
        var known = Rows().FindAll(row => row.Settlement is not null).ConvertAll(row => row.At);
        return Living().SelectMany(one => one.Epoch.Unsettled.Snapshot().Where(
            payment => payment.Phase == PaymentPhase.InDoubt
                && !payment.MayBeAt.IsSingle && one.Part<ProcessorLanes>().In(payment.MayBeAt).TrueForAll(
                    lane => lane.Health.Read().Availability != Availability.Usable
                        || !known.Contains(lane.Processor.Id)))).ToList();
    }

    private void CheckBounds()
    {
        foreach (var one in Living())
        {
            var calls = Processors.Length * Knobs.MaxConcurrency;
            var (queue, doubts) = (one.Epoch.Queue, one.Epoch.Doubts.Count);
            if (queue.Count > Knobs.QueueCapacity + Knobs.AdoptionPage + Knobs.DoubtsBound)
                Violate($"{one.Who} has {queue.Count} payments in its queue");
            if (doubts > Knobs.DoubtsBound)
                Violate($"{one.Who} has {doubts} payments in doubt");
            if (one.Part<UnwrittenOutcomes>().Count > Knobs.MaxBuffered + calls + Knobs.DoubtsBound)
                Violate($"{one.Who} has {one.Part<UnwrittenOutcomes>().Count} outcomes that are not written");
            if (queue.RemainingCapacity <= 0)
                Marks.Reach("a queue is full");
            if (one.Epoch.Backlog.HasOverflow)
                Marks.Reach("payments wait in the table");
            if (!one.Part<UnwrittenOutcomes>().HasCapacity)
                Marks.Reach("outcomes fill their buffer");
            if (Processors.Any(at => one.Epoch.Doubts.CountAt(at.Processor) >= Knobs.DoubtsMax))
                Marks.Reach("a processor has all the doubts that it may have");
        }
    }

    /// <summary>What an instance remembers although all is settled; null when all have forgotten.</summary>
    private string? Remembering() => Living().Where(one => one.IsFree).Select(one =>
        (one.Epoch.Unsettled.Count, one.Epoch.Doubts.Count, one.Part<UnwrittenOutcomes>().Count,
            one.Epoch.Queue.Count, one.Part<ProcessorLanes>().All.Sum(lane => lane.Read().InFlight)) is var has
            && has != default ? $"{one.Who} has {has} payments, doubts, outcomes, queued and called" : null)
        .FirstOrDefault(has => has is not null);

    // As a merchant who reads the feed: each settlement once, in an order that never goes back.
    private void ReadEvents()
    {
        while (true)
        {
            if (_pool.Await(() => _database.EventsAsync(_feed, limit: 3)) is not { } page)
            {
                // What follows a purge or a crash is another feed; what left it by its age was told, or never will be.
                Marks.Reach("a reader of events begins again");
                _told.Clear();
                _feed = null;
                continue;
            }

            foreach (var told in page.Events.Where(told => told.Kind == "settled"))
                if (!_told.Add((told.AcceptedAt!.Value, told.CorrelationId!.Value)))
                    Violate($"{Name(told.CorrelationId!.Value)} is told twice");
            _feed = page.Next;
            if (page.Events.Count == 0)
                return;
        }
    }
}
