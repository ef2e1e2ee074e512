using System.Threading.RateLimiting;
using PaymentGateway.Recording;
using PaymentGateway.Storage;

namespace PaymentGateway.Summarising;

/// <summary>Allows one query in flight per window, and four in all. Safe from any thread.</summary>
/// <remarks>
/// Callers share a query only if it begins after all of them asked, so that it sees each earlier record and purge. A
/// caller that comes during a query shares the next one.
/// </remarks>
internal sealed class SummaryQueries(
    Func<SummaryWindow, Task<PaymentsSummary>> summarise, TimeProvider clock) : IDisposable
{
    /// <summary>The longest wait of a caller: the audit takes no answer after 1.5 s (contract.md).</summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(1.2);

    // An instance has five shared connections by default; the last one is for health, purges and the search for closed
    // epochs.
    private const int InFlightMax = 4;

    // An auditor that asks 50 times a second asks this many questions within the limit.
    private const int WaitingMax = 60;

    private readonly ConcurrencyLimiter _permits = new(
        new ConcurrencyLimiterOptions { PermitLimit = InFlightMax, QueueLimit = WaitingMax });

    private readonly object _gate = new();
    private readonly Dictionary<SummaryWindow, Query> _newest = [];

    /// <summary>Sums a window up, as of now or a moment later.</summary>
    /// <returns>Null at once when too many queries wait.</returns>
    /// <exception cref="System.Data.Common.DbException">The query failed.</exception>
    /// <exception cref="TimeoutException">No answer within the limit.</exception>
    public Task<PaymentsSummary?> AskAsync(SummaryWindow window)
    {
        Query? before;
        Query query;
        lock (_gate)
        {
            if (_newest.TryGetValue(window, out before) && !before.HasBegun)
                return before.Answer.Task.WaitAsync(Limit, clock);

            _newest[window] = query = new Query();
        }

        _ = RunAsync(window, query, before);
        return query.Answer.Task.WaitAsync(Limit, clock);
    }

    public void Dispose() => _permits.Dispose();

    private async Task RunAsync(SummaryWindow window, Query query, Query? before)
    {
        try
        {
            // WhenAny hides a failure of the earlier query; only its own callers get it.
            if (before is not null)
                await Task.WhenAny(before.Answer.Task);
            var permit = await _permits.AcquireAsync();
            lock (_gate)
                query.HasBegun = true;
            query.Answer.SetResult(
                permit.IsAcquired ? await SummariseAsync(window, permit).WaitAsync(Limit, clock) : null);
        }
        catch (Exception failed)
        {
            query.Answer.SetException(failed);
        }
        finally
        {
            lock (_gate)
                if (_newest.GetValueOrDefault(window) == query)
                    _newest.Remove(window);
        }
    }

    // A statement keeps its permit until it ends, even if it hangs; a new query of the window needs another permit.
    private async Task<PaymentsSummary> SummariseAsync(SummaryWindow window, RateLimitLease permit)
    {
        using (permit)
            return await summarise(window);
    }

    private sealed class Query
    {
        public TaskCompletionSource<PaymentsSummary?> Answer { get; } =
            new(TaskCreationOptions.RunContinuationsAsynchronously);

        public bool HasBegun { get; set; }
    }
}

/// <summary>Whole microseconds, UTC, both bounds inclusive; absent is unbounded.</summary>
internal readonly record struct SummaryWindow(DateTime? From, DateTime? To);

/// <summary>
/// Sums a window on one snapshot, with every outcome that this instance knew when it was asked. Safe from any thread.
/// </summary>
/// <remarks>
/// <para>
/// An auditor asks gateway and processors for the same window while the load runs, and both must say the same, to the
/// cent. A processor counts a payment when it has stored it; the ledger counts it when its outcome is recorded, at the
/// latest 1.5 s after its requestedAt. Windows that end earlier than that agree.
/// </para>
/// <para>
/// Summing rows alone would take longer with each payment, so each outcome also adds to a total, in the statement that
/// records it: one total for 5 s and one for the hour, for each processor and epoch. An epoch has totals of its own,
/// because two instances that added to one row would wait for each other. A window is cut into at most five parts:
/// </para>
/// <code>
///   from                                                                               to
///   |-- rows --|-- 5 s totals --|------- hour totals -------|-- 5 s totals --|-- rows --|
///              a 5 s mark       a whole hour                a whole hour     a 5 s mark
/// </code>
/// <para>
/// So a window of a year costs some thousands of totals and at most ten seconds of rows. All parts are read in one
/// statement, on one snapshot, otherwise a payment that is recorded in between would be counted in a total and not in
/// the rows, or a purge would be seen in half.
/// </para>
/// <para>
/// <i>An example.</i> Default answers 200 at 12:00:04.999 to a charge of 12:00:04.998. The outcome waits in this
/// instance's memory, at most 50 ms, for others to share its statement. At 12:00:05.010 an auditor asks for the window
/// up to 12:00:05. Default counts the payment. So this instance first waits until its outcomes with a requestedAt in
/// the window are written, and only then reads. Outcomes of other instances are late by a few milliseconds at most
/// (docs/decisions/0012-no-audit-finds-the-ledger-behind.md).
/// </para>
/// <para>
/// Retention deletes rows of whole hours and keeps the totals. A window that ends inside of a bucket whose rows are
/// deleted cannot be summed up, and is refused with the nearest bound that can (<see cref="NotKeptException"/>).
/// </para>
/// </remarks>
internal sealed class LedgerSummary(SummaryStore ledger, UnwrittenOutcomes unwritten, GatewayOptions options)
{
    /// <returns>The totals by processor name, including processors that are not configured any more.</returns>
    public async Task<PaymentsSummary> SummariseAsync(SummaryWindow window)
    {
        await unwritten.WrittenAsync(window.To);
        var summary = new PaymentsSummary();
        foreach (var one in options.Processors.All)
            summary.Add(one.Processor.Name, new ProcessorTotals(0, 0.00m));
        foreach (var row in await ledger.SumAsync(window.From, window.To))
            summary[row.Processor!] = new ProcessorTotals(row.Requests, Money.FromCents(row.AmountCents));
        return summary;
    }
}

/// <summary>Totals of settled payments by processor name.</summary>
internal sealed class PaymentsSummary : Dictionary<string, ProcessorTotals>
{
    /// <summary>The contract's format; the serializer's dictionary support would enlarge the binary.</summary>
    public JsonObject ToJson()
    {
        var all = new JsonObject();
        foreach (var (name, totals) in this)
            all[name] = new JsonObject
            {
                ["totalRequests"] = totals.TotalRequests,
                ["totalAmount"] = totals.TotalAmount,
            };
        return all;
    }
}

internal sealed record ProcessorTotals(long TotalRequests, decimal TotalAmount);
