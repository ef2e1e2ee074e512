namespace PaymentGateway.Storage;

/// <summary>
/// Runs every statement whose rows Dapper.AOT reads. It blocks its thread until a column arrives; on the sockets'
/// thread, where Program runs continuations, it would wait for itself. So this runs it on threads of the pool.
/// </summary>
internal abstract class Db
{
    // An await continues on the scheduler that it began on; this one uses any number of pool threads.
    private static readonly TaskScheduler PoolThreads =
        new ConcurrentExclusiveSchedulerPair(TaskScheduler.Default, -1).ConcurrentScheduler;

    /// <summary>Runs a statement. Its limit is that of its connection (<see cref="LimitedCommand"/>).</summary>
    /// <exception cref="NpgsqlException">
    /// The statement failed, its outcome is unknown, or there was no connection.
    /// </exception>
    public virtual Task<TResult> RunAsync<TResult>(Func<NpgsqlConnection, Task<TResult>> statement) =>
        Task.Factory.StartNew(
            () => OnConnectionAsync(statement), CancellationToken.None, TaskCreationOptions.None, PoolThreads).Unwrap();

    /// <inheritdoc cref="RunAsync"/>
    public Task<List<TRow>> ListAsync<TRow>(Func<NpgsqlConnection, Task<IEnumerable<TRow>>> query) =>
        RunAsync(async db => (await query(db)).AsList());

    /// <summary>Runs a statement on a connection that nothing else uses meanwhile.</summary>
    protected abstract Task<TResult> OnConnectionAsync<TResult>(Func<NpgsqlConnection, Task<TResult>> statement);
}
