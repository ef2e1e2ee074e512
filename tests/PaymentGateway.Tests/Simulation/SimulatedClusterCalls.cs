using Microsoft.AspNetCore.Http;
using PaymentGateway.Accepting;
using PaymentGateway.Operator.Admin;
using PaymentGateway.Operator.Reconciliation;

namespace PaymentGateway.Tests.Simulation;

/// <content>The calls of clients and operators.</content>
internal sealed partial class SimulatedCluster
{
    private static readonly TimeSpan ClientWaits = TimeSpan.FromSeconds(3);

    private readonly Dictionary<Guid, Known> _payments = [];
    private readonly List<TimeSpan> _purgesUntil = [];

    private void Call(Verb verb, SimulatedInstance instance)
    {
        var id = Guid.Empty;
        if (verb == Verb.Pay)
        {
            _payments.Add(id = NewId(), new Known(_payments.Count + 1, _random.Next(1, 100_000)));
            RepeatLater(id);
        }
        else if (verb < Verb.List && _payments.Count > 0)
            id = _payments.Keys.ElementAt(_random.Next(_payments.Count));
        Call(verb, instance, id);
    }

    // A request to a frozen instance lies in its socket.
    private void Call(Verb verb, SimulatedInstance instance, Guid id)
    {
        if (instance.IsStopping || instance.Actor.IsDead || (_payments.Count == 0 && verb < Verb.List)
            || (_payments.TryGetValue(id, out var payment) && payment.PurgedAt is not null))
            return;

        var goneAt = Time.Now + ClientWaits;
        instance.Actor.Continuations.Post(_ => _ = CallAsync(verb, instance, id, goneAt), null);
    }

    // A client that gets no answer, or 503, asks again, of any instance.
    private void RepeatLater(Guid id) => Network.After(ClientWaits, () =>
    {
        var payment = _payments[id];
        if (payment.IsAnswered || payment.IsAnew || payment.PurgedAt is not null)
            return;

        var instances = Living().Where(one => !one.IsStopping).ToList();
        if (instances.Count > 0)
            Call(Verb.Repeat, instances[_random.Next(instances.Count)], id);
        Marks.Reach(_crashedAt > TimeSpan.Zero ? "a client repeats after a crash" : "a client repeats");
        RepeatLater(id);
    });

    private List<Guid> Unanswered() => _payments
        .Where(one => one.Value is { IsAnswered: false, PurgedAt: null, IsAnew: false })
        .Select(one => one.Key).ToList();

    private async Task CallAsync(Verb verb, SimulatedInstance instance, Guid id, TimeSpan goneAt)
    {
        // Accepted anew, it may be charged beside its owner, who has it in memory: this profile allows that.
        if (verb < Verb.List && _payments.TryGetValue(id, out var payment) && payment.IsCrashed)
            return;

        try
        {
            await (verb switch
            {
                Verb.LookUp => LookUpAsync(instance, id),
                Verb.List => ListAsync(instance),
                Verb.Summarise => SummariseAsync(instance),
                Verb.Purge => PurgeAsync(instance, goneAt),
                Verb.Replay => instance.Part<ParkedStore>().ReplayPageAsync(PaymentCursor.Start, null, 1_000),
                Verb.Reconcile => ReconcileAsync(instance),
                _ => PayAsync(instance, id, _payments[id].Cents + (verb == Verb.Conflict ? 1 : 0)),
            });
        }
        catch (Exception failed)
        {
            Trace($"{instance.Who}: {verb}: 503, {failed.Message}");
            if (failed is not (NpgsqlException or TimeoutException or OperationCanceledException))
                Violate($"{verb} failed: {failed}");
        }
    }

    private async Task PayAsync(SimulatedInstance instance, Guid id, long cents)
    {
        var result = await instance.Part<Intake>().AcceptAsync(id, cents);
        var payment = _payments[id];
        Trace($"{instance.Who}: {Name(id)} of {cents} is {result}");
        if (payment.PurgedAt is not null)
            return;

        if (cents == payment.Cents)
            payment.IsAnswered |= result is AcceptResult.Accepted or AcceptResult.Conflict;
        if (result == AcceptResult.Accepted && payment.History.AcknowledgedCents is null)
            payment.AcknowledgedAt = Time.Now;
        Judge(id, payment.History.OnPosted(
            result switch { AcceptResult.Accepted => 202, AcceptResult.Conflict => 409, _ => 503 }, cents));
        if (result == AcceptResult.Accepted && !StoredIds().Contains(id))
            Violate($"{Name(id)} is acknowledged, and not stored");
    }

    private async Task LookUpAsync(SimulatedInstance instance, Guid id)
    {
        var (payment, known) = (_payments[id], _payments[id].History.Known);
        var (status, body) = await AskAsync(
            instance, instance.Part<PaymentSearch>().ShowAsync, request => request.RouteValues["id"] = $"{id}");
        Trace($"{instance.Who}: {Name(id)} is looked up: {status} {body}");
        if (payment.PurgedAt is null)
            Judge(id, payment.History.OnLookedUp(known, status, body));
    }

    private async Task ListAsync(SimulatedInstance instance)
    {
        var acknowledged = _payments.Where(one => one.Value.History.Known.IsAcknowledged).ToList();
        var (status, body) = await AskAsync(
            instance, instance.Part<PaymentSearch>().ListAsync,
            request => request.QueryString = new QueryString("?limit=200"));
        if (status != 200)
        {
            if (status < 500)
                Violate($"a list is refused: {status} {body}");
            return;
        }

        var listed = JsonNode.Parse(body)!["payments"]!.AsArray()
            .Select(one => (Guid)one!["correlationId"]!).ToList();
        Trace($"{instance.Who}: lists {listed.Count}");
        if (listed.Distinct().Count() < listed.Count)
            Violate("a payment is listed twice");
        foreach (var (id, payment) in acknowledged.Where(one => one.Value.PurgedAt is null))
            // The outcomes that a database has lost are for a reconciliation.
            Judge(id, listed.Contains(id) || _hasLost ? null : "was acknowledged, and is not listed");
    }

    // Of all time, so that nothing depends on a clock.
    private async Task SummariseAsync(SimulatedInstance instance)
    {
        var (emptied, before) = (_emptied, Totals());
        var summary = await instance.Part<SummaryQueries>().AskAsync(new SummaryWindow(null, null));
        Trace($"{instance.Who}: {summary}");
        foreach (var at in summary is null ? [] : Processors)
        {
            var total = summary![at.Processor.Name];
            if (total.TotalRequests > at.Stored.Count
                || total.TotalAmount * 100 > at.Stored.Values.Sum(one => one.Cents))
                Violate($"a summary has more than {at.Processor}");
            else if (emptied == _emptied
                && total.TotalRequests < before.GetValueOrDefault(at.Processor.Id).Requests)
                Violate($"a summary lacks what was recorded before, of {at.Processor}");
        }
    }

    // Its client gives up as nginx does; Kestrel notices that after it has begun the request.
    private async Task PurgeAsync(SimulatedInstance instance, TimeSpan goneAt)
    {
        var rest = goneAt - Time.Now;
        using var gone = new CancellationTokenSource(
            rest > TimeSpan.Zero ? rest : TimeSpan.FromMilliseconds(1), instance.Actor);
        _purgesUntil.Add(goneAt);
        await AskAsync(
            instance,
            context => AuditEndpoints.PurgeAsync(
                context, instance.Part<LedgerStateStore>(), instance.Part<Lease>(), instance.Actor),
            request => request.HttpContext.RequestAborted = gone.Token);
    }

    // As ReconciliationEndpoint does.
    private async Task ReconcileAsync(SimulatedInstance instance)
    {
        if (await ReconciliationStore.OpenAsync(instance.Part<GatewayOptions>()) is not { } ledger)
            return;

        var report = await instance.Part<ReconciliationRun>().RunAsync(
            ledger, new ReconciliationQuery(null, null, Repair: true), new ReconciliationProgress(),
            CancellationToken.None);
        Trace($"{instance.Who}: reconciled: {report.Outcome} {report.Stop?.Message} "
            + string.Join(", ", report.Differences.Select(one => $"{one.Kind} {one.Repair} {one.Why}")));
        foreach (var one in report.Differences.Where(one => one.Kind == DifferenceKind.ChargedTwice))
            if (!_payments.Values.Any(payment => payment.IsAnew))
                Violate($"a reconciliation found {one.Kind}");
    }

    // A request at a real handler.
    private static async Task<(int Status, string Body)> AskAsync(
        SimulatedInstance instance, Func<HttpContext, Task> handler, Action<HttpRequest> ask)
    {
        using var answer = new MemoryStream();
        var context = new DefaultHttpContext { RequestServices = instance.Part<IServiceProvider>() };
        context.Response.Body = answer;
        ask(context.Request);
        await handler(context);
        return (context.Response.StatusCode, Encoding.UTF8.GetString(answer.ToArray()));
    }

    private Guid NewId()
    {
        var bytes = new byte[16];
        _random.NextBytes(bytes);
        return new Guid(bytes);
    }

    /// <summary>A payment as its clients know it.</summary>
    private sealed class Known(int number, long cents)
    {
        public int Number => number;

        public long Cents => cents;

        public ClientHistory History { get; } = new();

        /// <summary>When it left the ledger, by a purge or because it was old.</summary>
        public TimeSpan? PurgedAt { get; set; }

        /// <summary>It was settled, and left because it was old; an owner may have it in doubt all the same.</summary>
        public bool IsOld { get; set; }

        /// <summary>It left by a crash.</summary>
        public bool IsCrashed { get; set; }

        /// <summary>Its client knows whether it was accepted.</summary>
        public bool IsAnswered { get; set; }

        public TimeSpan AcknowledgedAt { get; set; }

        /// <summary>When it was last seen in doubt at a processor that is away; it may go on from then.</summary>
        public TimeSpan InDoubtAt { get; set; }

        /// <summary>The processors that a byte of it was sent to.</summary>
        public HashSet<Processor> SentTo { get; } = [];

        /// <summary>
        /// A request that was on its way at a purge or a crash was accepted after it, as if its id had never been here:
        /// this ledger does not know it any more, so nothing is promised of the id from then on.
        /// </summary>
        public bool IsAnew { get; set; }
    }
}
