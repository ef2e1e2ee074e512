namespace PaymentGateway.Tests.Hosting.Telemetry;

public sealed class DetachedTasksTests
{
    private static readonly Regex Discarded = new(@"\b_ = [\w.]+Async\(|\basync void\b|\bTask\.Run\(");

    [Fact]
    public async Task A_detached_task_that_fails_ends_the_loop_by_which_the_host_stops_and_others_do_not()
    {
        using var detached = new DetachedTasks();
        var unfinished = new TaskCompletionSource();
        await detached.StartAsync(CancellationToken.None);
        detached.Add(Task.CompletedTask);
        detached.Add(unfinished.Task);
        Assert.False(detached.ExecuteTask!.IsCompleted);

        unfinished.SetException(new InvalidOperationException("It was not expected."));

        await Assert.ThrowsAsync<InvalidOperationException>(() => detached.ExecuteTask);
    }

    [Fact]
    public async Task A_task_that_a_stop_breaks_off_is_no_failure()
    {
        using var detached = new DetachedTasks();
        var broken = new TaskCompletionSource();
        await detached.StartAsync(CancellationToken.None);
        detached.Add(broken.Task);

        await detached.StopAsync(CancellationToken.None);
        broken.SetCanceled();

        Assert.True(detached.ExecuteTask!.IsCanceled);
    }

    // The exception of a task that is discarded is lost. Of these, two hold no payment and catch everything, one gives
    // its failures to the callers that wait for its answer, two are awaited, and one is the mechanism itself.
    [Fact]
    public void A_task_that_nobody_awaits_is_added_to_the_detached_ones()
    {
        var root = Repository.PathOf("src", "PaymentGateway");
        var discarded = Directory.EnumerateFiles(root, "*.cs", SearchOption.AllDirectories)
            .SelectMany(file => File.ReadLines(file).Where(line => Discarded.IsMatch(line))
                .Select(line => $"{Path.GetFileName(file)}: {line.Trim()}"));

        Assert.Equal(
            [
                "AddressRace.cs: _ = CloseAsync(late);", "DetachedTasks.cs: _ = WatchAsync(task);",
                "HealthMonitor.cs: _ = PollAsync(byName[claim]);",
                "OtlpExport.cs: Task.Run(() => metrics.Shutdown(LastLimitMilliseconds)),",
                "OtlpExport.cs: Task.Run(() => traces.Shutdown(LastLimitMilliseconds)))",
                "SummaryQueries.cs: _ = RunAsync(window, query, before);",
            ],
            discarded.Order());
    }
}
