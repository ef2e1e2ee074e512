namespace PaymentGateway.Tests.EndToEnd;

/// <summary>PostgreSQL's disk is full, and has space again.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class FullDiskTests
{
    private const int PerSecond = 200;

    private static readonly TimeSpan While = TimeSpan.FromSeconds(3);

    [MountedSystemFact]
    public async Task On_a_full_disk_payments_get_503_nothing_is_lost_and_it_recovers_by_itself()
    {
        await using var disk = await SmallDisk.MountAsync(megabytes: 4);
        await using var system = await GatewaySystem.UpAsync(("PROFILE", "durable"));
        await disk.TakeAsync(system);
        var ledger = new LoadLedger();
        await LoadDriver.RunAtRateAsync(system.Client, ledger, PerSecond, While);
        ledger.NoClientSawAnError();

        disk.Fill();
        await LoadDriver.RunAtRateAsync(system.Client, ledger, PerSecond, While);
        // What the last pages still hold is accepted; the rest is told so, and by nothing else.
        Assert.True(ledger.CountOf(LoadOutcome.Unavailable) > PerSecond, "the disk was not full");
        Assert.Equal(ledger.Count, ledger.Acknowledged + ledger.CountOf(LoadOutcome.Unavailable));
        disk.Free();
        await Task.WhenAll(ledger.Entries.Where(entry => entry.Outcome == LoadOutcome.Unavailable).Select(
            entry => LoadDriver.PostAsync(
                system.Client, ledger, entry.Id, entry.Amount, new LoadRetry(20, TimeSpan.FromMilliseconds(200)))));

        await LedgerCheck.AgreesAsync(system, ledger);
        Assert.Equal(ledger.Count, ledger.Acknowledged);
    }
}
