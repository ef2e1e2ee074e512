namespace PaymentGateway.Leasing;

/// <summary>Wakes one waiting loop; several sets while nobody waits count as one. Safe from any thread.</summary>
internal sealed class AsyncAutoResetEvent(TimeProvider clock)
{
    private TaskCompletionSource _next = New();

    public void Set() => Volatile.Read(ref _next).TrySetResult();

    /// <summary>Waits until it is set, at most <paramref name="limit"/>.</summary>
    /// <exception cref="OperationCanceledException">The wait was cancelled.</exception>
    public async Task WaitAsync(TimeSpan limit, CancellationToken cancellation)
    {
        try
        {
            await Volatile.Read(ref _next).Task.WaitAsync(limit, clock, cancellation);
            Volatile.Write(ref _next, New());
        }
        catch (TimeoutException)
        {
            // The loop wakes after the limit too, and checks the conditions that depend on time.
        }
    }

    private static TaskCompletionSource New() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
