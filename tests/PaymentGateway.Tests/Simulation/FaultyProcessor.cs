using System.Collections.Specialized;
using System.Net.Http.Headers;
using System.Web;

namespace PaymentGateway.Tests.Simulation;

/// <summary>What happens to a call.</summary>
internal enum Fault
{
    None,
    Fails, // 500 without a body.
    FailsLate, // The same, late.
    Refuses, // No connection, for any call.
    Slow, // Stored and answered late.
    Breaks, // The connection breaks at once; stored late.
    Hangs, // No answer; stored late.
    Drops, // The connection breaks; never stored.
    Errs, // Stored, then 500 with a body.
    Rejects, // 400, and never stored.
    Misleads, // Stored, then 400, against its contract. Health: the contrary of what is.
    Garbles, // 200 with a page, and never stored.
    Swallows, // No connection, after the limit for connecting, for any call.
    Throttles, // 429, to be repeated after so long.
    Foreign, // 404 with a page of somebody else; never stored.
    Bare, // 404 without a body, of somebody else.
    Forgets, // Look-ups lag behind: 404 for what is new, and for what was answered with 422.
}

/// <summary>The calls that have faults of their own.</summary>
internal enum Called
{
    Charge,
    LookUp,
    Health,
}

/// <summary>
/// A processor that keeps its contract: delay, then failure switch, then insert, once for each id. Its calls go on
/// whatever becomes of their instance. Instances may meet different faults.
/// </summary>
internal sealed class FaultyProcessor
{
    private static readonly TimeSpan Quick = TimeSpan.FromMilliseconds(10);
    private static readonly TimeSpan ConnectTimeout = TimeSpan.FromSeconds(2);

    // Below the horizon: such a 404 proves nothing.
    private static readonly TimeSpan LagMax = TimeSpan.FromSeconds(14);

    private readonly SimulatedCluster _cluster;
    private readonly (Fault Fault, TimeSpan Delay)[,] _faults;
    private readonly Dictionary<int, TimeSpan> _worksSince = [];
    private TimeSpan _faultyUntil = -TimeSpan.FromDays(1);

    public FaultyProcessor(SimulatedCluster cluster, Processor processor, int instances)
    {
        (_cluster, Processor) = (cluster, processor);
        _faults = new (Fault, TimeSpan)[Enum.GetValues<Called>().Length, instances];
    }

    public Processor Processor { get; }

    public Dictionary<Guid, (long Cents, DateTime RequestedAt)> Stored { get; } = [];

    public Dictionary<Guid, TimeSpan> StoredAt { get; } = [];

    /// <summary>Payments whose instances know for a while, by a 422, that they are stored here.</summary>
    public HashSet<Guid> Told { get; } = [];

    /// <summary>When it was last asked for its health.</summary>
    public TimeSpan PolledAt { get; private set; }

    /// <summary>Charges that may still be stored.</summary>
    public int InFlight { get; private set; }

    /// <summary>Since when no instance meets a fault of any of its calls; null while one does.</summary>
    public TimeSpan? HealthySince =>
        _faults.Cast<(Fault Fault, TimeSpan)>().Any(one => one.Fault != Fault.None) ? null : _faultyUntil;

    /// <summary>Since when all charges of an instance are answered well; null while they are not.</summary>
    public TimeSpan? WorksSince(int who) => _worksSince.TryGetValue(who, out var since) ? since : null;

    /// <param name="who">Null: every instance meets it.</param>
    public void Set(Called called, int? who, Fault fault, TimeSpan delay)
    {
        for (var at = 0; at < _faults.GetLength(1); at++)
            if (who is null || who == at)
                _faults[(int)called, at] = (fault, delay);
        _worksSince.Clear();
        NoteFault(TimeSpan.Zero);
    }

    /// <summary>Every call is answered from now on.</summary>
    public void Heal()
    {
        foreach (var called in Enum.GetValues<Called>())
            Set(called, null, Fault.None, TimeSpan.Zero);
    }

    public HttpMessageHandler ConnectionsOf(SimulatedInstance instance) => new Connections(this, instance);

    private void NoteFault(TimeSpan longer) =>
        _faultyUntil = _cluster.Time.Now + longer > _faultyUntil ? _cluster.Time.Now + longer : _faultyUntil;

    private HttpResponseMessage Store(Guid id, long cents, DateTime requestedAt)
    {
        InFlight--;
        if (!Stored.TryAdd(id, (cents, requestedAt)))
            return Answer(HttpStatusCode.UnprocessableEntity, """{"message":"known"}""");

        StoredAt.Add(id, _cluster.Time.Now);
        _cluster.OnStored(id, Processor);
        return Answer(HttpStatusCode.OK, """{"message":"payment processed successfully"}""");
    }

    private string Sum(NameValueCollection window)
    {
        var (from, to) = (Time("from"), Time("to"));
        var within = Stored.Values.Where(one => one.RequestedAt >= from && one.RequestedAt <= to).ToList();
        return JsonSerializer.Serialize(new
        {
            totalRequests = within.Count,
            totalAmount = within.Sum(one => one.Cents) / 100m,
        });

        DateTime Time(string bound) => DateTime.Parse(
            window[bound]!, CultureInfo.InvariantCulture, DateTimeStyles.AdjustToUniversal);
    }

    private bool IsForgotten(Guid id) =>
        Told.Contains(id) || (StoredAt.TryGetValue(id, out var at) && _cluster.Time.Now - at < LagMax);

    private static HttpResponseMessage Answer(HttpStatusCode status, string body = "") =>
        new(status) { Content = new StringContent(body) };

    // The answers that nobody of the processor's own gives.
    private HttpResponseMessage? Odd(Fault fault, TimeSpan delay)
    {
        switch (fault)
        {
            case Fault.Fails or Fault.FailsLate or Fault.Drops:
                return Answer(HttpStatusCode.InternalServerError);
            case Fault.Rejects:
                return Answer(HttpStatusCode.BadRequest);
            case Fault.Garbles:
                return Answer(HttpStatusCode.OK, "<p>Back soon.</p>");
            case Fault.Foreign:
                return Answer(HttpStatusCode.NotFound, "<html><body>default backend - 404</body></html>");
            case Fault.Bare:
                return Answer(HttpStatusCode.NotFound);
            case Fault.Throttles:
                NoteFault(delay);
                var answer = Answer(HttpStatusCode.TooManyRequests);
                answer.Headers.RetryAfter = new RetryConditionHeaderValue(delay);
                return answer;
            default:
                return null;
        }
    }

    /// <summary>The connections of one instance to this processor.</summary>
    private sealed class Connections(FaultyProcessor at, SimulatedInstance instance) : HttpMessageHandler
    {
        private readonly SimulatedCluster _cluster = at._cluster;

        protected override async Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken token)
        {
            if (request.Method != HttpMethod.Post)
                return await AskAsync(request.RequestUri!, token);

            try
            {
                return await ChargeAsync(request.Content!, token);
            }
            catch (Exception)
            {
                at._worksSince.Remove(instance.Who);
                throw;
            }
        }

        private (Fault Fault, TimeSpan Delay) FaultOf(Called called) => at._faults[(int)called, instance.Who];

        private async Task<HttpResponseMessage> ChargeAsync(HttpContent content, CancellationToken token)
        {
            _cluster.Reach(instance, "Connects");
            // Mostly a connection is there.
            if (instance.Actor.IsFrozen || _cluster.IsSlow())
                await PassAsync(Quick / 10, token);
            await ConnectAsync(token);
            using var body = new MemoryStream();
            await content.CopyToAsync(body, token);
            using var charge = JsonDocument.Parse(body.ToArray());
            var id = charge.RootElement.GetProperty("correlationId").GetGuid();
            var cents = (long)(charge.RootElement.GetProperty("amount").GetDecimal() * 100);
            var requestedAt = charge.RootElement.GetProperty("requestedAt").GetDateTime();
            _cluster.OnSent(instance, id, at);
            var (sentAt, fault) = (_cluster.Time.Now, FaultOf(Called.Charge).Fault);
            var answer = await AnswerAsync(id, cents, requestedAt, token);
            _cluster.Marks.Reach($"a charge is answered with {(int)answer.StatusCode}");
            if (fault != Fault.None || _cluster.Time.Now - sentAt > TimeSpan.FromSeconds(0.5))
                at._worksSince.Remove(instance.Who);
            else if ((int)answer.StatusCode is 200 or 422)
                at._worksSince.TryAdd(instance.Who, _cluster.Time.Now);
            if ((int)answer.StatusCode == 422)
                _cluster.OnTold(instance, id, at);
            else if ((int)answer.StatusCode == 200 && fault is Fault.None or Fault.Slow)
                _cluster.OnAnswered(instance, id);
            return answer;
        }

        private async Task ConnectAsync(CancellationToken token)
        {
            switch (FaultOf(Called.Charge).Fault)
            {
                case Fault.Refuses:
                    throw new HttpRequestException("refused");
                case Fault.Swallows:
                    await PassAsync(ConnectTimeout, token);
                    _cluster.Marks.Reach("a connection is never made");
                    throw new TaskCanceledException("no connection in time", new TimeoutException());
            }
        }

        private Task<HttpResponseMessage> AnswerAsync(
            Guid id, long cents, DateTime requestedAt, CancellationToken token)
        {
            var answer = new TaskCompletionSource<HttpResponseMessage>(
                TaskCreationOptions.RunContinuationsAsynchronously);
            token.Register(() => answer.TrySetCanceled(token));
            var (fault, delay) = FaultOf(Called.Charge);
            at.InFlight++;
            _cluster.Network.After(
                fault is Fault.Slow or Fault.Breaks or Fault.Hangs or Fault.FailsLate ? delay : Quick,
                () =>
                {
                    if ((fault == Fault.None && FaultOf(Called.Charge).Fault == Fault.Fails
                            ? at.Odd(Fault.Fails, delay)
                            : at.Odd(fault, delay)) is { } odd)
                    {
                        at.InFlight--;
                        answer.TrySetResult(odd);
                        return;
                    }

                    var stored = at.Store(id, cents, requestedAt);
                    _cluster.Reach(instance, "Stored");
                    if (fault == Fault.Errs)
                        answer.TrySetResult(Answer(HttpStatusCode.InternalServerError, "the database is away"));
                    else if (fault == Fault.Misleads)
                        answer.TrySetResult(Answer(HttpStatusCode.BadRequest));
                    else if (fault != Fault.Hangs)
                        answer.TrySetResult(stored);
                });
            if (fault is Fault.Breaks or Fault.Drops)
                _cluster.Network.After(Quick / 2, () => answer.TrySetException(_cluster.BrokenConnection()));
            _cluster.Reach(instance, "Sent");
            if (at.Processor != Support.Known.Default)
                _cluster.Reach(instance, "UsesFallback");
            return answer.Task;
        }

        private async Task<HttpResponseMessage> AskAsync(Uri url, CancellationToken token)
        {
            var last = url.Segments[^1];
            var called = last == "service-health" ? Called.Health : Called.LookUp;
            var (fault, delay) = FaultOf(called);
            await PassAsync(fault == Fault.Slow ? delay : Quick / 10, token);
            if (called == Called.Health)
                at.PolledAt = _cluster.Time.Now;
            await ConnectAsync(token);
            if (fault != Fault.None)
                _cluster.Marks.Reach($"{called} {fault}");
            if (fault == Fault.Hangs)
                await PassAsync(TimeSpan.FromMinutes(5), token);
            if (fault == Fault.Breaks)
                throw _cluster.BrokenConnection();
            if (at.Odd(fault, delay) is { } odd)
                return odd;
            if (called == Called.Health)
                return Answer(HttpStatusCode.OK, JsonSerializer.Serialize(new
                {
                    failing = FaultOf(Called.Charge).Fault == Fault.Fails != (fault == Fault.Misleads),
                    minResponseTime = 0,
                }));
            if (last == "payments-summary")
                return Answer(HttpStatusCode.OK, at.Sum(HttpUtility.ParseQueryString(url.Query)));

            var id = Guid.Parse(last);
            return at.Stored.TryGetValue(id, out var stored) && !(fault == Fault.Forgets && at.IsForgotten(id))
                ? Answer(HttpStatusCode.OK, JsonSerializer.Serialize(new
                {
                    correlationId = last,
                    amount = stored.Cents / 100m,
                    requestedAt = stored.RequestedAt,
                }))
                : Answer(HttpStatusCode.NotFound);
        }

        private Task PassAsync(TimeSpan time, CancellationToken token)
        {
            var passed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            token.Register(() => passed.TrySetCanceled(token));
            _cluster.Network.After(time, () => passed.TrySetResult());
            return passed.Task;
        }
    }
}
