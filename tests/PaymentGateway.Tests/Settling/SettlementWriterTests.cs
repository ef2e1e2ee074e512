using Microsoft.Extensions.Logging.Abstractions;
using PaymentGateway.Owning;
using PaymentGateway.Settling;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Settling;

/// <summary>How soon an outcome is in the ledger.</summary>
public sealed class SettlementWriterTests : IAsyncLifetime
{
    private readonly TestDatabase database = new();
    private readonly WatchedClock clock = new();

    public Task InitializeAsync() => database.InitializeAsync();

    public Task DisposeAsync() => database.DisposeAsync();

    // The clock stands still, so whatever else it waited for would never end.
    [PostgresFact]
    public async Task An_outcome_waits_for_its_batch_and_for_nothing_else()
    {
        var options = TestSettings.Read();
        var batch = Batches.ToStore(Batches.SortedIds(1), await database.OpenEpochAsync());
        await database.Payments.StoreAsync(batch);
        using var writer = new SettlementWriter(
            database.Ledger, new OpenPayments(), new Lease(clock, options.Owning), options.Recording, clock,
            NullLogger<SettlementWriter>.Instance);
        await writer.StartAsync(CancellationToken.None);

        var payment = new Payment(batch.Ids[0], batch.AmountsCents[0], batch.AcceptedAts[0], batch.Owner);
        writer.Add(new Settlement(payment, Processor.Default, payment.AmountCents, Batches.Noon));

        await Eventually.HoldsAsync(
            async () => await database.ScalarAsync<long>("SELECT count(*) FROM settlements") == 1,
            "it is in the ledger");
        await writer.StopAsync(CancellationToken.None);
    }
}
