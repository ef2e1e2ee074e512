using PaymentGateway.Charging;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Reconciliation;

/// <summary>
/// Finds the payments behind windows that differ. It looks up the ledger's payments there, and seeks a processor's
/// excess among payments that the ledger has elsewhere or unsettled.
/// </summary>
internal sealed class DifferenceFinder(ReconciliationStore ledger, BothSides sides)
{
    private const int PageMax = 1_000;
    private const int PagesMax = 5;
    private const int UnsettledMax = 2_000;

    // Checked between windows, so one window may exceed it.
    private const int SuspectsMax = 1_000;

    // In the search for excesses.
    private const int LookUpsMax = 10_000;

    private readonly Dictionary<Guid, PaymentSides> _suspects = [];
    private readonly HashSet<(Processor, Guid)> _lookedUp = [];
    private readonly List<DifferingWindow> _read = [];

    // The payments that a processor holds in a window beyond the ledger's payments there and the suspects.
    private readonly Dictionary<(Processor, TimeWindow), Sums> _excesses = [];
    private readonly List<Difference> _differences = [];
    private int _lookUps;
    private bool _hasPassedBy;

    /// <summary>There may be more differences than are named, or an unknown payment may be in the ledger.</summary>
    public bool IsCutShort => _hasPassedBy || _lookUps >= LookUpsMax || _suspects.Count >= SuspectsMax;

    /// <summary>Names all differences of these windows.</summary>
    /// <exception cref="StoppedException">A processor does not answer.</exception>
    public async Task<List<Difference>> NameAsync(IReadOnlyList<DifferingWindow> windows)
    {
        foreach (var window in windows)
            if (_suspects.Count < SuspectsMax)
                await ReadAsync(window);
        await ExplainAsync();

        foreach (var payment in _suspects.Values)
            if (payment.Compare() is { } kind)
                _differences.Add(new Difference(kind, payment));
        foreach (var window in _read)
            if (ExcessOf(window) != default)
                Add(IsExplained(window) ? DifferenceKind.Sums : DifferenceKind.Unknown, window, ExcessOf(window));
        return _differences;
    }

    // Looks up the ledger's payments in the window, one by one; the rest that the processor holds is its excess.
    private async Task ReadAsync(DifferingWindow differing)
    {
        var (processor, window, compared) = differing;
        await sides.PaceAsync();
        var rows = window.IsSmallest ? await ledger.SettledAsync(window.From, window.Last, processor) : [];
        if (!window.IsSmallest || rows.Count > ReconciliationStore.WindowRowsMax)
        {
            Add(DifferenceKind.Sums, differing, compared.Held - compared.Ledger);
            return;
        }

        var excess = compared.Held;
        var orphans = default(Sums);
        foreach (var row in rows)
        {
            var held = await sides.LookUpAsync(processor, row.CorrelationId);
            _lookedUp.Add((processor, row.CorrelationId));
            if ((held.Result, held.AmountCents, held.RequestedAt)
                == (LookupResult.Found, row.AmountCents, row.RequestedAt))
                excess -= new Sums(1, row.AmountCents);
            else if (!await SuspectAsync(row.CorrelationId))
                orphans -= new Sums(1, row.AmountCents);
        }

        // Settlements without a payment: no statement of ours leaves such rows.
        if (orphans != default)
            Add(DifferenceKind.Sums, differing, orphans);
        AddExcess(processor, window, excess);
        _read.Add(differing);
    }

    private void Add(DifferenceKind kind, DifferingWindow window, Sums excess) =>
        _differences.Add(new Difference(kind, null, window, excess));

    /// <returns>False: the ledger has no such payment.</returns>
    private async Task<bool> SuspectAsync(Guid id)
    {
        if (_suspects.ContainsKey(id))
            return true;
        if (await sides.FindAsync(id) is not { } payment)
            return false;

        _suspects.Add(id, payment);
        foreach (var (processor, held) in payment.At)
            if (held.Result == LookupResult.Found
                && (processor.Name, held.AmountCents, held.RequestedAt)
                    != (payment.Row.Processor, payment.Row.AmountCents, payment.Row.RequestedAt))
                AddExcess(
                    processor, TimeWindow.Outward(held.RequestedAt, held.RequestedAt), new Sums(-1, -held.AmountCents));
        return true;
    }

    private void AddExcess(Processor processor, TimeWindow window, Sums sums) =>
        _excesses[(processor, window)] = _excesses.GetValueOrDefault((processor, window)) + sums;

    private async Task ExplainAsync()
    {
        if (_read.TrueForAll(IsExplained))
            return;

        // A payment is charged after its acceptance.
        var unsettled = await ledger.UnsettledAsync(_read.Max(one => one.Window.Last), UnsettledMax);
        _hasPassedBy = unsettled is null;
        foreach (var window in _read)
        {
            if (_lookUps >= LookUpsMax)
                break;

            await TryAsync(unsettled ?? [], window);
            var (position, others) = (new PaymentCursor(window.Window.Before, Guid.Empty), new List<CandidateRow>());
            for (var pages = 0; pages < PagesMax && !IsExplained(window); pages++)
            {
                await sides.PaceAsync();
                var page = await ledger.AcceptedBeforeAsync(position, PageMax);
                await TryAsync(page.FindAll(row => row.Processor is null), window);
                others.AddRange(page.Where(
                    row => row.Processor is not null && row.Processor != window.Processor.Name));
                if (page.Count < PageMax)
                    break;

                position = page[^1].Cursor;
            }

            // A payment that is settled at another processor may be held by both.
            await TryAsync(others.FindAll(row => MayBe(row, ExcessOf(window))), window);
        }
    }

    private async Task TryAsync(List<CandidateRow> candidates, DifferingWindow window)
    {
        foreach (var candidate in candidates)
        {
            if (IsExplained(window) || _lookUps >= LookUpsMax)
                return;

            if (!_lookedUp.Add((window.Processor, candidate.CorrelationId)))
                continue;

            _lookUps++;
            if ((await sides.LookUpAsync(window.Processor, candidate.CorrelationId)).Result == LookupResult.Found)
                await SuspectAsync(candidate.CorrelationId);
        }
    }

    private static bool MayBe(CandidateRow row, Sums excess) =>
        excess.Payments == 1 ? row.AmountCents == excess.Cents : row.AmountCents < excess.Cents;

    private Sums ExcessOf(DifferingWindow window) => _excesses[(window.Processor, window.Window)];

    private bool IsExplained(DifferingWindow window) => ExcessOf(window).Payments <= 0;
}
