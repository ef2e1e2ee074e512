namespace PaymentGateway.Tests.Support;

internal sealed record PlantedSettlement(Processor Processor, long Cents, DateTime RequestedAt);

/// <summary>A ledger and two processors that agree but for some payments, written past the gateway.</summary>
internal sealed class PlantedLedgers(DateTime from, TimeSpan apart)
{
    private static readonly TimeSpan Waited = TimeSpan.FromMilliseconds(60);

    // Whole microseconds, so that a bound of a millisecond is hit now and then. FromMilliseconds(1.001) is 1.0009 ms,
    // and the two sides do not round the rest alike.
    private readonly TimeSpan _apart = TimeSpan.FromMicroseconds(Math.Round(apart.TotalMicroseconds));
    private readonly Random _random = new(27);
    private readonly List<(Guid Id, DateTime AcceptedAt, long Cents, PlantedSettlement? Settled)> _payments = [];
    private readonly Dictionary<Processor, List<ProcessorPayment>> _held = new()
    {
        [Known.Default] = [],
        [Known.Fallback] = [],
    };

    private DateTime _next = from;

    /// <summary>The difference that each payment was planted with: id, and its kind as the gateway names it.</summary>
    public Dictionary<Guid, string> Kinds { get; } = [];

    public (int Payments, long Cents) Unknown { get; private set; }

    public DateTime Last => _next;

    public IEnumerable<(Guid Id, long Cents)> Payments => _payments.Select(payment => (payment.Id, payment.Cents));

    public void NoteIn(LoadLedger ledger)
    {
        foreach (var payment in _payments)
            ledger.Note(new LoadEntry(
                payment.Id, payment.Cents / 100m, LoadOutcome.Acknowledged, 1, payment.AcceptedAt, TimeSpan.Zero,
                "planted"));
    }

    /// <summary>Payments that both sides have alike; every fourth at fallback.</summary>
    public void Agreeing(int count)
    {
        for (var at = 0; at < count; at++)
        {
            var processor = at % 4 == 3 ? Known.Fallback : Known.Default;
            var (id, cents, when) = Next();
            Settle(id, cents, new PlantedSettlement(processor, cents, when));
            Hold(processor, id, cents, when);
        }
    }

    public void Absent(Processor processor) => Plant("absent", processor);

    public Guid Unrecorded(Processor processor) => Plant("unrecorded", null, (processor, 0, default));

    /// <summary>Settled at one processor in the ledger, and held by the other one some time later.</summary>
    public void Misplaced(Processor settled) =>
        Plant("misplaced", settled, (Other(settled), 0, TimeSpan.FromSeconds(1.5)));

    public void ChargedTwice(Processor settled) =>
        Plant("charged_twice", settled, (settled, 0, default), (Other(settled), 0, TimeSpan.FromSeconds(1)));

    public void Amount(Processor processor) => Plant("amount", processor, (processor, 1, default));

    /// <summary>Held with another requestedAt, in another part of the window.</summary>
    public void RequestedAt(Processor processor) =>
        Plant("requested_at", processor, (processor, 0, TimeSpan.FromSeconds(3) + TimeSpan.FromTicks(10)));

    /// <summary>Held, and nothing of it in the ledger; less than any other, so that it can be none of them.</summary>
    /// <param name="atLast">At the time of the payment before.</param>
    public void NotInLedger(Processor processor, long? cents = null, bool atLast = false)
    {
        var when = atLast ? _next : Next().RequestedAt;
        var amount = cents ?? _random.Next(1, 100);
        Hold(processor, Guid.NewGuid(), amount, when);
        Unknown = (Unknown.Payments + 1, Unknown.Cents + amount);
    }

    /// <inheritdoc cref="WriteAsync(string, SimulatedProcessor, SimulatedProcessor)"/>
    public Task WriteAsync(GatewayRig rig) => WriteAsync(rig.Database.ConnectionString, rig.Default, rig.Fallback);

    /// <summary>Writes everything: owned by an epoch that is over, so that no instance takes it up.</summary>
    public async Task WriteAsync(string connectionString, SimulatedProcessor atDefault, SimulatedProcessor atFallback)
    {
        await using var connection = await Statements.OpenAsync(connectionString);
        var epoch = await connection.ScalarAsync<int>(
            "INSERT INTO leases (instance, processors, used_processors, expires_at, closed_at, adopted_at) "
            + "VALUES ('planted', '', 6, '-infinity', now(), now()) RETURNING epoch");
        await connection.ExecuteAsync(
            """
            INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
            SELECT *, @epoch FROM unnest(@ids, @cents, @accepted)
            """,
            ("epoch", epoch), ("ids", _payments.Select(payment => payment.Id).ToArray()),
            ("cents", _payments.Select(payment => payment.Cents).ToArray()),
            ("accepted", _payments.Select(payment => payment.AcceptedAt).ToArray()));
        var settled = _payments.FindAll(payment => payment.Settled is not null);
        await connection.ExecuteAsync(
            """
            INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at)
            SELECT * FROM unnest(@ids, @accepted, @processors, @cents, @requested)
            """,
            ("ids", settled.Select(payment => payment.Id).ToArray()),
            ("accepted", settled.Select(payment => payment.AcceptedAt).ToArray()),
            ("processors", settled.Select(payment => payment.Settled!.Processor.Id).ToArray()),
            ("cents", settled.Select(payment => payment.Settled!.Cents).ToArray()),
            ("requested", settled.Select(payment => payment.Settled!.RequestedAt).ToArray()));
        await connection.ExecuteAsync(
            """
            INSERT INTO settlement_totals (width_seconds, bucket, processor, epoch, requests, amount_cents)
            SELECT width_seconds, date_bin(width, requested_at, 'epoch'), processor, @epoch, count(*), sum(amount_cents)
            FROM settlements,
                 (VALUES (5, interval '5 seconds'), (3600, interval '1 hour')) AS widths (width_seconds, width)
            GROUP BY 1, 2, 3
            """,
            ("epoch", epoch));
        await atDefault.PlantAsync(_held[Known.Default]);
        await atFallback.PlantAsync(_held[Known.Fallback]);
    }

    private static Processor Other(Processor processor) =>
        processor == Known.Default ? Known.Fallback : Known.Default;

    private (Guid Id, long Cents, DateTime RequestedAt) Next(string? kind = null)
    {
        _next += _apart;
        var id = Guid.NewGuid();
        if (kind is not null)
            Kinds.Add(id, kind);
        return (id, _random.Next(100, 1_000_000), _next);
    }

    private Guid Plant(
        string kind, Processor? settled, params (Processor Processor, long MoreCents, TimeSpan Later)[] held)
    {
        var (id, cents, when) = Next(kind);
        Settle(id, cents, settled is { } at ? new PlantedSettlement(at, cents, when) : null, when);
        foreach (var (processor, moreCents, later) in held)
            Hold(processor, id, cents + moreCents, when + later);
        return id;
    }

    private void Settle(Guid id, long cents, PlantedSettlement? settled, DateTime? requestedAt = null) =>
        _payments.Add((id, (settled?.RequestedAt ?? requestedAt!.Value) - Waited, cents, settled));

    private void Hold(Processor processor, Guid id, long cents, DateTime requestedAt) =>
        _held[processor].Add(new ProcessorPayment(id, cents / 100m, new DateTimeOffset(requestedAt, TimeSpan.Zero)));
}
