using PaymentGateway.Accepting;

namespace PaymentGateway.Tests.Simulation;

/// <content>The invariants.</content>
internal sealed partial class SimulatedCluster
{
    // By then every renewal has noticed a purge, and every lease has ended.
    private static readonly TimeSpan PurgeNoticed = TimeSpan.FromSeconds(4);
    private static readonly TimeSpan LeaseEnded = TimeSpan.FromSeconds(4);

    /// <summary>The first byte of a charge leaves.</summary>
    public void OnSent(SimulatedInstance instance, Guid id, Processor processor)
    {
        Trace($"{instance.Who}: charges {Name(id)} at {processor}");
        var owner = _database.Read(
            $"SELECT owner_epoch FROM payments WHERE correlation_id = '{id}'", row => row.GetInt32(0));
        var epoch = instance.Part<Lease>().Epoch;
        if (owner is [var owned] && owned != epoch && Time.Now - _jumpedAt > LeaseEnded)
            Violate($"{instance.Who} charges {Name(id)} in epoch {epoch}, and {owned} owns it");
        var since = _payments[id].PurgedAt is { } purgedAt && purgedAt > instance.DisturbedAt
            ? purgedAt
            : instance.DisturbedAt;
        if (owner.Count == 0 && _payments[id].PurgedAt is not null && Time.Now - since > PurgeNoticed)
            Violate($"{instance.Who} charges {Name(id)}, which was purged");
    }

    public void OnStored(Guid id, Processor processor)
    {
        Trace($"{processor} stores {Name(id)}");
        if (Processors.All(one => one.Stored.ContainsKey(id)))
            Violate($"{Name(id)} is charged by both processors");
    }

    private async Task AskAsync(SimulatedInstance instance, Guid id, long cents)
    {
        var result = await instance.Part<Intake>().AcceptAsync(id, cents);
        var payment = _payments[id];
        Trace($"{instance.Who}: {Name(id)} of {cents} is {result}");
        if (result == AcceptResult.Conflict && payment.PurgedAt is null && payment.AcknowledgedCents == cents)
            Violate($"{Name(id)} was acknowledged, and is a conflict");
        if (result != AcceptResult.Accepted)
            return;

        if (payment is { AcknowledgedCents: { } other, PurgedAt: null } && other != cents)
            Violate($"{Name(id)} is acknowledged with two amounts");
        payment.AcknowledgedCents = cents;
        if (payment.PurgedAt is null && !StoredIds().Contains(id))
            Violate($"{Name(id)} is acknowledged, and not stored");
    }

    /// <summary>The summary never exceeds the processors, and its totals are its settlements'.</summary>
    private void Check()
    {
        var settled = _database.Read(
            """
            SELECT s.correlation_id, s.processor, s.amount_cents, s.requested_at, p.correlation_id IS NULL
            FROM settlements s LEFT JOIN payments p USING (accepted_at, correlation_id)
            """,
            row => (Id: row.GetGuid(0), At: row.GetInt16(1), Cents: row.GetInt64(2), RequestedAt: row.GetDateTime(3),
                IsOrphan: row.GetBoolean(4)));
        foreach (var one in settled)
        {
            if (!Processors[one.At - 1].Stored.TryGetValue(one.Id, out var stored)
                || stored != (one.Cents, one.RequestedAt))
                Violate($"{Name(one.Id)} is settled, and its processor has {stored}");
            if (one.IsOrphan)
                Violate($"{Name(one.Id)} is settled, and was purged");
        }

        var totals = _database.Read(
            """
            SELECT processor, sum(requests)::bigint, sum(amount_cents)::bigint FROM settlement_totals
            WHERE width_seconds = 5 GROUP BY 1
            """,
            row => (row.GetInt16(0), row.GetInt64(1), row.GetInt64(2)));
        var sums = settled.GroupBy(one => one.At).Select(of => (of.Key, (long)of.Count(), of.Sum(one => one.Cents)));
        if (!totals.Order().SequenceEqual(sums.Order()))
            Violate("the totals are not those of the settlements");
        if (_violation is not null)
            throw new ViolationException(_violation, _trace);
    }

    /// <summary>Nothing acknowledged or charged is lost.</summary>
    private void CheckHealed()
    {
        Check();
        var stored = StoredIds();
        foreach (var (id, payment) in _payments)
        {
            if (payment is { AcknowledgedCents: not null, PurgedAt: null } && !stored.Contains(id))
                throw new ViolationException($"{Name(id)} was acknowledged, and is lost", _trace);
            if (payment.PurgedAt is null && !stored.Contains(id)
                && Processors.Any(one => one.Stored.ContainsKey(id)))
                throw new ViolationException($"{Name(id)} was charged, and is nowhere", _trace);
        }
    }

    private List<Guid> StoredIds() => _database.Read("SELECT correlation_id FROM payments", row => row.GetGuid(0));

    private List<Guid> Unsettled() => _database.Read(
        "SELECT correlation_id FROM payments LEFT JOIN settlements s USING (accepted_at, correlation_id) "
        + "WHERE s.processor IS NULL",
        row => row.GetGuid(0));

    private string Name(Guid id) => $"payment {_payments[id].Number}";

    private void Violate(string what)
    {
        Trace($"VIOLATION: {what}");
        _violation ??= what;
    }

    /// <summary>What clients know of a payment.</summary>
    private sealed class Known(int number, long cents)
    {
        public int Number => number;

        public long Cents => cents;

        public long? AcknowledgedCents { get; set; }

        public TimeSpan? PurgedAt { get; set; }
    }
}

/// <summary>An invariant was broken by a schedule.</summary>
internal sealed class ViolationException(string what, IEnumerable<string> trace) : Exception(what)
{
    public string Trace { get; } = string.Join('\n', trace);
}
