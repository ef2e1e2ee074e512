using PaymentGateway.Processors;
using PaymentGateway.Storage;

namespace PaymentGateway.Reconciliation;

/// <summary>
/// Names the payments behind windows that differ. Those that the ledger has there are looked up; for what a processor
/// holds beyond them, payments are looked for that the ledger has elsewhere, or not settled.
/// </summary>
internal sealed class DifferenceFinder(ReconciliationStore ledger, BothSides sides)
{
    private const int PageMax = 1_000;
    private const int PagesMax = 5;
    private const int UnsettledMax = 2_000;

    // Beside those of the window that is being read.
    private const int SuspectsMax = 1_000;

    // For what a processor holds beyond the ledger.
    private const int LookUpsMax = 10_000;

    private readonly Dictionary<Guid, PaymentSides> _suspects = [];
    private readonly Dictionary<(Processor, TimeWindow), Sums> _explained = [];
    private readonly HashSet<(Processor, Guid)> _lookedUp = [];
    private readonly List<(DifferingWindow Window, Sums Excess)> _excesses = [];
    private readonly List<Difference> _differences = [];
    private int _lookUps;
    private bool _hasPassedBy;

    /// <summary>There may be more than is named, or what is unknown may be known after all.</summary>
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
                _differences.Add(new Difference(kind, payment, null));
        foreach (var (window, excess) in _excesses)
            if (Left(window, excess) is { AreZero: false } left)
                _differences.Add(new Difference(
                    left.Payments > 0 ? DifferenceKind.Unknown : DifferenceKind.Sums, null, window)
                {
                    Excess = left,
                });
        return _differences;
    }

    // What the ledger has in the window, one by one; the rest of what the processor holds there is its excess.
    private async Task ReadAsync(DifferingWindow differing)
    {
        var (processor, window, compared) = differing;
        await sides.PaceAsync();
        var rows = window.IsSmallest ? await ledger.SettledAsync(window.From, window.Last, processor) : [];
        if (!window.IsSmallest || rows.Count > ReconciliationStore.WindowRowsMax)
        {
            _differences.Add(new Difference(DifferenceKind.Sums, null, differing)
            {
                Excess = compared.Held - compared.Ledger,
            });
            return;
        }

        var excess = compared.Held;
        var orphans = default(Sums);
        foreach (var row in rows)
        {
            var held = await sides.LookUpAsync(processor, row.CorrelationId);
            _lookedUp.Add((processor, row.CorrelationId));
            if (held.Result == LookupResult.Found
                && (held.AmountCents, held.RequestedAt) == (row.AmountCents, row.RequestedAt))
                excess -= Sums.One(row.AmountCents);
            else if (!await SuspectAsync(row.CorrelationId))
                orphans += Sums.One(row.AmountCents);
        }

        // Settlements without a payment: no statement of ours leaves such rows.
        if (!orphans.AreZero)
            _differences.Add(new Difference(DifferenceKind.Sums, null, differing) { Excess = default(Sums) - orphans });
        _excesses.Add((differing, excess));
    }

    /// <returns>False: the ledger has no such payment.</returns>
    private async Task<bool> SuspectAsync(Guid id)
    {
        if (_suspects.ContainsKey(id))
            return true;
        if (await sides.FindAsync(id) is not { } payment)
            return false;

        _suspects.Add(id, payment);
        foreach (var processor in Enum.GetValues<Processor>())
            if (payment.At(processor) is { Result: LookupResult.Found } held && !payment.IsAsSettled(processor))
            {
                var place = (processor, TimeWindow.Around(held.RequestedAt));
                _explained[place] = _explained.GetValueOrDefault(place) + Sums.One(held.AmountCents);
            }

        return true;
    }

    private async Task ExplainAsync()
    {
        if (_excesses.TrueForAll(one => IsExplained(one.Window, one.Excess)))
            return;

        // A payment is charged after its acceptance.
        var unsettled = await ledger.UnsettledAsync(_excesses.Max(one => one.Window.Window.Last), UnsettledMax);
        _hasPassedBy = unsettled is null;
        foreach (var (window, excess) in _excesses)
        {
            if (_lookUps >= LookUpsMax)
                break;

            await TryAsync(unsettled ?? [], window, excess);
            var (position, others) = (new PaymentCursor(window.Window.Before, Guid.Empty), new List<CandidateRow>());
            for (var pages = 0; pages < PagesMax && !IsExplained(window, excess); pages++)
            {
                await sides.PaceAsync();
                var page = await ledger.AcceptedBeforeAsync(position, PageMax);
                await TryAsync(page.FindAll(row => row.Processor is null), window, excess);
                others.AddRange(page.Where(
                    row => row.Processor is not null && row.Processor != (short)window.Processor));
                if (page.Count < PageMax)
                    break;

                position = page[^1].Cursor;
            }

            // Settled at the other processor: held by both.
            await TryAsync(others.FindAll(row => MayBe(row, Left(window, excess))), window, excess);
        }
    }

    private async Task TryAsync(List<CandidateRow> candidates, DifferingWindow window, Sums excess)
    {
        foreach (var candidate in candidates)
        {
            if (IsExplained(window, excess) || _lookUps >= LookUpsMax)
                return;

            if (!_lookedUp.Add((window.Processor, candidate.CorrelationId)))
                continue;

            _lookUps++;
            if ((await sides.LookUpAsync(window.Processor, candidate.CorrelationId)).Result == LookupResult.Found)
                await SuspectAsync(candidate.CorrelationId);
        }
    }

    private static bool MayBe(CandidateRow row, Sums left) =>
        left.Payments == 1 ? row.AmountCents == left.Cents : row.AmountCents < left.Cents;

    private Sums Left(DifferingWindow window, Sums excess) =>
        excess - _explained.GetValueOrDefault((window.Processor, window.Window));

    private bool IsExplained(DifferingWindow window, Sums excess) => Left(window, excess).Payments <= 0;
}
