namespace PaymentGateway.Hosting.Telemetry;

/// <summary>
/// Ends the instance when a task that nobody awaits fails, as the host ends it when a loop fails: exit code 70, and
/// other instances adopt its payments. Otherwise a payment of that task would stay unsettled, and hold the low-water
/// mark back, for as long as the instance runs. A task handles what it expects itself. Any thread.
/// </summary>
internal sealed class DetachedTasks : BackgroundService
{
    private readonly TaskCompletionSource _failed = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public void Add(Task task)
    {
        if (!task.IsCompletedSuccessfully)
            _ = WatchAsync(task);
    }

    // It is the first part that stops: what a stop breaks off is released.
    protected override Task ExecuteAsync(CancellationToken stoppingToken) => _failed.Task.WaitAsync(stoppingToken);

    private async Task WatchAsync(Task task)
    {
        try
        {
            await task;
        }
        catch (Exception unexpected)
        {
            _failed.TrySetException(unexpected);
        }
    }
}
