using System.Collections.Specialized;
using System.Web;

namespace PaymentGateway.Tests.Simulation;

/// <summary>What happens to a charge.</summary>
internal enum Fault
{
    None,
    Fails, // 500 without a body.
    Refuses, // No connection.
    Slow, // Stored and answered late.
    Breaks, // The connection breaks at once; stored late.
    Hangs, // No answer; stored late.
    Drops, // The connection breaks; never stored.
    Errs, // Stored, then 500 with a body.
    Rejects, // 400, and never stored.
    Misleads, // Stored, then 400, against its contract.
    Garbles, // 200 with a page, and never stored.
}

/// <summary>
/// A processor that keeps its contract: delay, then failure switch, then insert, once for each id. Its calls go on
/// whatever becomes of their instance.
/// </summary>
internal sealed class FaultyProcessor(SimulatedCluster cluster, Processor processor)
{
    private static readonly TimeSpan Quick = TimeSpan.FromMilliseconds(10);

    public Processor Processor => processor;

    public Dictionary<Guid, (long Cents, DateTime RequestedAt)> Stored { get; } = [];

    public Fault Fault { get; private set; }

    /// <summary>How late a charge is stored.</summary>
    public TimeSpan Delay { get; private set; }

    /// <summary>Look-ups break.</summary>
    public bool IsSilent { get; set; }

    /// <summary>When it was last asked for its health.</summary>
    public TimeSpan PolledAt { get; private set; }

    /// <summary>Charges that may still be stored.</summary>
    public int InFlight { get; private set; }

    public void Set(Fault fault, TimeSpan delay) => (Fault, Delay) = (fault, delay);

    public HttpMessageHandler ConnectionsOf(SimulatedInstance instance) => new Connections(this, cluster, instance);

    private HttpResponseMessage Store(Guid id, long cents, DateTime requestedAt)
    {
        InFlight--;
        if (!Stored.TryAdd(id, (cents, requestedAt)))
            return Answer(HttpStatusCode.UnprocessableEntity, """{"message":"known"}""");

        cluster.OnStored(id, processor);
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

    private static HttpResponseMessage Answer(HttpStatusCode status, string body = "") =>
        new(status) { Content = new StringContent(body) };

    /// <summary>The connections of one instance to this processor.</summary>
    private sealed class Connections(FaultyProcessor at, SimulatedCluster cluster, SimulatedInstance instance)
        : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken token) =>
            request.Method == HttpMethod.Post ? ChargeAsync(request.Content!, token) : AskAsync(request, token);

        private async Task<HttpResponseMessage> ChargeAsync(HttpContent content, CancellationToken token)
        {
            cluster.Reach(instance, Point.Connects);
            // Mostly a connection is there.
            if (instance.Actor.IsFrozen || cluster.IsSlow())
                await PassAsync(token);
            if (at.Fault == Fault.Refuses)
                throw new HttpRequestException("refused");

            using var body = new MemoryStream();
            await content.CopyToAsync(body, token);
            using var charge = JsonDocument.Parse(body.ToArray());
            var id = charge.RootElement.GetProperty("correlationId").GetGuid();
            var cents = (long)(charge.RootElement.GetProperty("amount").GetDecimal() * 100);
            var requestedAt = charge.RootElement.GetProperty("requestedAt").GetDateTime();
            cluster.OnSent(instance, id, at.Processor);
            return await AnswerAsync(id, cents, requestedAt, token);
        }

        private Task<HttpResponseMessage> AnswerAsync(
            Guid id, long cents, DateTime requestedAt, CancellationToken token)
        {
            var answer = new TaskCompletionSource<HttpResponseMessage>(
                TaskCreationOptions.RunContinuationsAsynchronously);
            token.Register(() => answer.TrySetCanceled(token));
            var (fault, delay) = (at.Fault, at.Delay);
            at.InFlight++;
            cluster.Network.After(
                fault is Fault.Slow or Fault.Breaks or Fault.Hangs ? delay : Quick,
                () =>
                {
                    if (fault is Fault.Fails or Fault.Drops or Fault.Rejects or Fault.Garbles
                        || (fault == Fault.None && at.Fault == Fault.Fails))
                    {
                        at.InFlight--;
                        answer.TrySetResult(fault switch
                        {
                            Fault.Rejects => Answer(HttpStatusCode.BadRequest),
                            Fault.Garbles => Answer(HttpStatusCode.OK, "<p>Back soon.</p>"),
                            _ => Answer(HttpStatusCode.InternalServerError),
                        });
                        return;
                    }

                    var stored = at.Store(id, cents, requestedAt);
                    cluster.Reach(instance, Point.Stored);
                    if (fault == Fault.Errs)
                        answer.TrySetResult(Answer(HttpStatusCode.InternalServerError, "the database is away"));
                    else if (fault == Fault.Misleads)
                        answer.TrySetResult(Answer(HttpStatusCode.BadRequest));
                    else if (fault != Fault.Hangs)
                        answer.TrySetResult(stored);
                });
            if (fault is Fault.Breaks or Fault.Drops)
                cluster.Network.After(Quick / 2, () => answer.TrySetException(cluster.BrokenConnection()));
            cluster.Reach(instance, Point.Sent);
            if (at.Processor != Known.Default)
                cluster.Reach(instance, Point.UsesFallback);
            return answer.Task;
        }

        private async Task<HttpResponseMessage> AskAsync(HttpRequestMessage request, CancellationToken token)
        {
            await PassAsync(token);
            var last = request.RequestUri!.Segments[^1];
            if (last == "service-health")
            {
                at.PolledAt = cluster.Time.Now;
                return Answer(HttpStatusCode.OK, JsonSerializer.Serialize(new
                {
                    failing = at.Fault == Fault.Fails,
                    minResponseTime = 0,
                }));
            }

            if (at.IsSilent || at.Fault == Fault.Refuses)
                throw cluster.BrokenConnection();
            if (last == "payments-summary")
                return Answer(HttpStatusCode.OK, at.Sum(HttpUtility.ParseQueryString(request.RequestUri.Query)));

            return at.Stored.TryGetValue(Guid.Parse(last), out var stored)
                ? Answer(HttpStatusCode.OK, JsonSerializer.Serialize(new
                {
                    correlationId = last,
                    amount = stored.Cents / 100m,
                    requestedAt = stored.RequestedAt,
                }))
                : Answer(HttpStatusCode.NotFound);
        }

        private Task PassAsync(CancellationToken token)
        {
            var passed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            token.Register(() => passed.TrySetCanceled(token));
            cluster.Network.After(Quick / 10, () => passed.TrySetResult());
            return passed.Task;
        }
    }
}
