using System.Collections.Concurrent;
using System.Diagnostics.Tracing;

namespace PaymentGateway.Benchmarks.Allocating;

/// <summary>
/// Which types are allocated: the runtime tells of one allocation in about 100 KB, so shares are estimates. Listening
/// allocates too; bytes per payment are measured without it.
/// </summary>
internal sealed class AllocationTypes : EventListener
{
    private const string Runtime = "Microsoft-Windows-DotNETRuntime";
    private const EventKeywords GcKeyword = (EventKeywords)1;

    private readonly ConcurrentDictionary<string, long> _bytes = new();

    public void Reset() => _bytes.Clear();

    public IEnumerable<(string Type, double Share)> Top(int count)
    {
        var total = (double)Math.Max(1, _bytes.Values.Sum());
        return _bytes.OrderByDescending(entry => entry.Value).Take(count)
            .Select(entry => (entry.Key, entry.Value / total));
    }

    protected override void OnEventSourceCreated(EventSource eventSource)
    {
        if (eventSource.Name == Runtime)
            EnableEvents(eventSource, EventLevel.Verbose, GcKeyword);
    }

    protected override void OnEventWritten(EventWrittenEventArgs eventData)
    {
        if (eventData.EventName?.StartsWith("GCAllocationTick", StringComparison.Ordinal) != true)
            return;

        var names = eventData.PayloadNames!;
        var type = (string)eventData.Payload![names.IndexOf("TypeName")]!;
        var amount = Convert.ToInt64(eventData.Payload[names.IndexOf("AllocationAmount64")]!, null);
        _bytes.AddOrUpdate(type, amount, (_, before) => before + amount);
    }
}
