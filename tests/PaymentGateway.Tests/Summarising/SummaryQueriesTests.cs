namespace PaymentGateway.Tests.Summarising;

public sealed class SummaryQueriesTests : IDisposable
{
    private const int InFlightMax = 4;
    private const int WaitingMax = 60;

    private static readonly SummaryWindow Everything = new(null, null);

    private readonly List<(SummaryWindow Window, TaskCompletionSource<PaymentsSummary> Answer)> _begun = [];
    private readonly FakeTimeProvider _clock = new();
    private readonly SummaryQueries _queries;

    public SummaryQueriesTests() => _queries = new SummaryQueries(
        window =>
        {
            var answer = new TaskCompletionSource<PaymentsSummary>();
            lock (_begun)
                _begun.Add((window, answer));
            return answer.Task;
        },
        _clock);

    public void Dispose() => _queries.Dispose();

    [Fact]
    public async Task A_caller_during_a_query_shares_the_next_query_and_never_the_running_one()
    {
        var first = _queries.AskAsync(Everything);
        await BegunAsync(1);

        var later = Enumerable.Range(0, 100).Select(_ => _queries.AskAsync(Everything)).ToList();
        Assert.Equal(1, Begun());
        End(0, Summary(1));
        Assert.Equal(Summary(1), await first);
        await BegunAsync(2);
        Assert.All(later, asked => Assert.False(asked.IsCompleted));
        End(1, Summary(2));

        Assert.All(await Task.WhenAll(later), summary => Assert.Equal(Summary(2), summary));
        Assert.Equal(2, Begun());
        var after = _queries.AskAsync(Everything);
        await BegunAsync(3);
        End(2, Summary(3));
        Assert.Equal(Summary(3), await after);
    }

    [Fact]
    public async Task Four_windows_are_queried_at_once_and_too_many_are_refused_at_once()
    {
        var asked = Enumerable.Range(0, InFlightMax + WaitingMax).Select(at => _queries.AskAsync(Window(at))).ToList();
        await BegunAsync(InFlightMax);
        var refused = _queries.AskAsync(Window(asked.Count));

        Assert.Null(await refused);
        Assert.Equal(InFlightMax, Begun());
        Assert.All(asked, one => Assert.False(one.IsCompleted));
        for (var at = 0; at < asked.Count; at++)
        {
            await BegunAsync(at + 1);
            End(at, Summary(at));
            Assert.InRange(Begun(), at + 1, at + 1 + InFlightMax);
        }

        Assert.Equal(
            Enumerable.Range(0, asked.Count).Select(at => Summary(at)),
            (await Task.WhenAll(asked)).OrderBy(summary => summary!["default"].TotalRequests));
    }

    [Fact]
    public async Task A_waiting_window_takes_one_permit_however_many_ask_for_it()
    {
        var inFlight = Enumerable.Range(0, InFlightMax).Select(at => _queries.AskAsync(Window(at))).ToList();
        await BegunAsync(InFlightMax);

        var waiting = Enumerable.Range(0, 10 * WaitingMax)
            .Select(at => _queries.AskAsync(Window(InFlightMax + at % WaitingMax))).ToList();

        Assert.All(inFlight.Concat(waiting), asked => Assert.False(asked.IsCompleted));
        Assert.Null(await _queries.AskAsync(Window(InFlightMax + WaitingMax)));
    }

    [Fact]
    public async Task A_query_that_hangs_is_abandoned_but_keeps_its_permit_and_its_window_is_queried_again()
    {
        var hanging = _queries.AskAsync(Everything);
        await BegunAsync(1);
        var next = _queries.AskAsync(Everything);

        _clock.Advance(SummaryQueries.Limit);

        await Assert.ThrowsAsync<TimeoutException>(() => hanging);
        await Assert.ThrowsAsync<TimeoutException>(() => next);
        await BegunAsync(2);
        End(1, Summary(2));
        var others = Enumerable.Range(0, InFlightMax).Select(at => _queries.AskAsync(Window(at))).ToList();
        await BegunAsync(2 + InFlightMax - 1);
        Assert.Equal(2 + InFlightMax - 1, Begun());
        End(0, Summary(1));
        await BegunAsync(2 + InFlightMax);
        Assert.All(others, asked => Assert.False(asked.IsCompleted));
    }

    [Fact]
    public async Task The_failure_of_a_query_reaches_all_who_share_it_and_nobody_else()
    {
        var first = _queries.AskAsync(Everything);
        await BegunAsync(1);
        var later = _queries.AskAsync(Everything);

        _begun[0].Answer.SetException(new InvalidOperationException("broken"));

        await Assert.ThrowsAsync<InvalidOperationException>(() => first);
        await BegunAsync(2);
        End(1, Summary(2));
        Assert.Equal(Summary(2), await later);
    }

    private static SummaryWindow Window(int second) => new(DateTime.UnixEpoch.AddSeconds(second), null);

    private static PaymentsSummary Summary(int requests) =>
        new() { ["default"] = new ProcessorTotals(requests, 0.00m) };

    private void End(int at, PaymentsSummary summary) => _begun[at].Answer.SetResult(summary);

    private int Begun()
    {
        lock (_begun)
            return _begun.Count;
    }

    private Task BegunAsync(int count) => Support.Eventually.HoldsAsync(() => Begun() >= count, $"{count} queries");
}
