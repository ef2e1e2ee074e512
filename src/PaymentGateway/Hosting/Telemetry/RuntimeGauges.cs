namespace PaymentGateway.Hosting.Telemetry;

/// <summary>
/// The runtime's instruments under the names of .NET 9's own meter, which .NET 8 does not have; threads have another
/// name, because in Prometheus a name that ends in count is a histogram's.
/// </summary>
internal static class RuntimeGauges
{
    public static void AddRuntimeGauges(this Meter meter)
    {
        meter.CreateObservableCounter(
            "dotnet.gc.collections", Collections, "{collection}", "Collections, each in one generation.");
        meter.CreateObservableCounter(
            "dotnet.gc.heap.total_allocated", () => GC.GetTotalAllocatedBytes(), "By", "Bytes allocated since start.");
        meter.CreateObservableCounter(
            "dotnet.gc.pause.time", () => GC.GetTotalPauseDuration().TotalSeconds, "s", "Time paused for collections.");
        meter.CreateObservableUpDownCounter(
            "dotnet.gc.last_collection.memory.committed_size", () => GC.GetGCMemoryInfo().TotalCommittedBytes, "By",
            "The heap after the last collection.");
        meter.CreateObservableUpDownCounter(
            "dotnet.process.memory.working_set", () => Environment.WorkingSet, "By", "Resident memory.");
        meter.CreateObservableCounter("dotnet.process.cpu.time", CpuTime, "s", "CPU time used.");
        meter.CreateObservableUpDownCounter(
            "dotnet.thread_pool.threads", () => ThreadPool.ThreadCount, "{thread}", "Threads of the pool.");
        meter.CreateObservableUpDownCounter(
            "dotnet.thread_pool.queue.length", () => ThreadPool.PendingWorkItemCount, "{work_item}",
            "Work that waits for a thread of the pool.");
        meter.CreateObservableCounter(
            "dotnet.monitor.lock_contentions", () => Monitor.LockContentionCount, "{contention}",
            "How often a lock was held by another thread.");
    }

    // A collection of a generation counts for the younger ones too; here each is counted once.
    private static IEnumerable<Measurement<long>> Collections()
    {
        var older = 0;
        for (var generation = GC.MaxGeneration; generation >= 0; generation--)
        {
            var upwards = GC.CollectionCount(generation);
            yield return new Measurement<long>(upwards - older, Tag("gc.heap.generation", $"gen{generation}"));
            older = upwards;
        }
    }

    private static Measurement<double>[] CpuTime()
    {
        using var process = System.Diagnostics.Process.GetCurrentProcess();
        return
        [
            new(process.UserProcessorTime.TotalSeconds, Tag("cpu.mode", "user")),
            new(process.PrivilegedProcessorTime.TotalSeconds, Tag("cpu.mode", "system")),
        ];
    }

    private static KeyValuePair<string, object?> Tag(string key, string value) => new(key, value);
}
