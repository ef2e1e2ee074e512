namespace PaymentGateway.Storage;

/// <summary>
/// Runs statements whose rows Dapper.AOT reads. It waits for a column that has not come yet in the thread that reads;
/// in the thread of the sockets, which Program has complete there, it would wait for itself.
/// </summary>
internal static class RowReading
{
    // An await goes on in the scheduler that it began in; this one takes any number of pool threads.
    private static readonly TaskScheduler PoolThreads =
        new ConcurrentExclusiveSchedulerPair(TaskScheduler.Default, -1).ConcurrentScheduler;

    /// <summary>Runs a statement, and goes on in a thread of the pool whenever it has waited.</summary>
    public static Task<TResult> RunAsync<TResult>(Func<Task<TResult>> statement) =>
        Task.Factory.StartNew(statement, CancellationToken.None, TaskCreationOptions.None, PoolThreads).Unwrap();
}
