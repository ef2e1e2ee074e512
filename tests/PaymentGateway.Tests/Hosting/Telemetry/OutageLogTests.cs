namespace PaymentGateway.Tests.Hosting.Telemetry;

public sealed class OutageLogTests
{
    private static readonly TimeSpan Pause = TimeSpan.FromSeconds(1);

    private readonly FakeTimeProvider _clock = new();
    private readonly List<string> _reports = [];

    [Fact]
    public async Task Repeated_work_outlasts_failures_and_warns_of_the_first_one_of_each_outage()
    {
        using var stopping = new CancellationTokenSource();
        var results = new Queue<Exception?>(
            [new TimeoutException("a"), new OperationCanceledException("b"), null, new TimeoutException("c")]);
        var repeating = RepeatAsync(
            () => results.Dequeue() is { } failed ? Task.FromException(failed) : Task.CompletedTask, stopping.Token);

        while (results.Count > 0)
        {
            _clock.Advance(Pause);
            await Task.Yield();
        }

        await stopping.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => repeating);
        Assert.Equal(["Warning: a", "Debug: b", "Warning: c"], _reports);
    }

    [Fact]
    public async Task A_stop_that_breaks_off_repeated_work_is_not_reported()
    {
        using var stopping = new CancellationTokenSource();
        var repeating = RepeatAsync(
            () => Task.Delay(Timeout.InfiniteTimeSpan, _clock, stopping.Token), stopping.Token);

        await stopping.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => repeating);
        Assert.Empty(_reports);
    }

    private Task RepeatAsync(Func<Task> workAsync, CancellationToken stopping) => new OutageLog().RepeatAsync(
        workAsync, Pause, (level, reason) => _reports.Add($"{level}: {reason}"), _clock, stopping);
}
