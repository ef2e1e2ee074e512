using Microsoft.Extensions.Logging.Abstractions;
using PaymentGateway.Leasing;
using PaymentGateway.Recording;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Recording;

/// <summary>What outcomes wait for on their way into the ledger, and a summary with them.</summary>
public sealed class SettlementWriterTests(TestDatabase database) : IClassFixture<TestDatabase>
{
    [PostgresFact]
    public async Task An_outcome_that_the_ledger_has_already_waits_for_no_renewal()
    {
        var options = TestSettings.Read();
        var stored = Batches.ToStore(Batches.SortedIds(1), await database.OpenEpochAsync());
        await database.Payments.StoreAsync(stored);
        await database.Ledger.RecordAsync(Batches.ToRecord(stored));
        // Nobody renews it, so whoever waits for that waits for ever.
        var lease = new Lease(TimeProvider.System, options.Owning);
        using var outcomes = new UnwrittenOutcomes(options.Recording, TimeProvider.System);
        using var writer = new SettlementWriter(
            database.Ledger, database.Payments, outcomes, new OpenPayments(), lease, TimeProvider.System,
            NullLogger<SettlementWriter>.Instance);
        await writer.StartAsync(CancellationToken.None);

        var payment = new Payment(stored.Ids[0], stored.AmountsCents[0], stored.AcceptedAts[0], stored.OwnerEpoch);
        writer.Add(new Settlement(payment, Processor.Default, payment.AmountCents, Batches.Noon));

        await outcomes.WrittenAsync(null).WaitAsync(TimeSpan.FromSeconds(30));
        await writer.StopAsync(CancellationToken.None);
    }
}
