using PaymentGateway.Recording;
using PaymentGateway.Storage;

namespace PaymentGateway.Summarising;

/// <summary>Sums a window up as the auditor sees it. Safe from any thread.</summary>
internal sealed class LedgerSummary(SettlementLedger ledger, UnwrittenOutcomes unwritten)
{
    /// <summary>
    /// Sums a window on one snapshot, with every outcome that this instance knew when it was asked.
    /// </summary>
    public async Task<PaymentsSummary> SummariseAsync(SummaryWindow window)
    {
        await unwritten.WrittenAsync(window.To);
        var rows = await ledger.SumAsync(window.From, window.To);
        return new PaymentsSummary(TotalsOf(rows, Processor.Default), TotalsOf(rows, Processor.Fallback));
    }

    private static ProcessorTotals TotalsOf(List<TotalsRow> rows, Processor processor) =>
        rows.Find(row => row.Processor == (short)processor) is { } totals
            ? new ProcessorTotals(totals.Requests, Money.FromCents(totals.AmountCents))
            : new ProcessorTotals(0, 0.00m);
}
