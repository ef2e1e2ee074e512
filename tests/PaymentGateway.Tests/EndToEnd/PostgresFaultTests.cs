namespace PaymentGateway.Tests.EndToEnd;

[Collection(AlsoOneAfterAnother.Name)]
public sealed class PostgresFaultTests
{
    [MountedSystemFact]
    public async Task On_a_full_disk_payments_get_503_nothing_is_lost_and_it_recovers_by_itself()
    {
        const int PerSecond = 200;
        var time = TimeSpan.FromSeconds(3);
        await using var disk = await SmallDisk.MountAsync(megabytes: 4);
        await using var system = await GatewaySystem.UpAsync(("PROFILE", "durable"));
        await disk.TakeAsync(system);
        var ledger = new LoadLedger();
        await LoadDriver.RunAtRateAsync(system.Client, ledger, PerSecond, time);
        ledger.NoClientSawAnError();

        disk.Fill();
        await LoadDriver.RunAtRateAsync(system.Client, ledger, PerSecond, time);
        // Payments that the last pages hold are accepted; the others get 503 and no other error.
        Assert.True(ledger.CountOf(LoadOutcome.Unavailable) > PerSecond, "the disk was not full");
        Assert.Equal(ledger.Count, ledger.Acknowledged + ledger.CountOf(LoadOutcome.Unavailable));
        disk.Free();
        await Task.WhenAll(ledger.Entries.Where(entry => entry.Outcome == LoadOutcome.Unavailable).Select(
            entry => LoadDriver.PostAsync(
                system.Client, ledger, entry.Id, entry.Amount, new LoadRetry(20, TimeSpan.FromMilliseconds(200)))));

        await LedgerCheck.AgreesAsync(system, ledger);
        Assert.Equal(ledger.Count, ledger.Acknowledged);
    }

    // An answer may come in parts, anywhere. Nothing of the gateway waits for the rest of it in a thread that serves
    // sockets: all of them would be blocked.
    [GatewaySystemFact]
    public async Task PostgreSQL_answers_that_arrive_in_parts_block_nothing()
    {
        // More than the queue holds, so that whole pages come back out of the table.
        const int Payments = 3_000;
        await using var system = await GatewaySystem.UpWithRelaysAsync(("Gateway__Intake__QueueCapacity", "1000"));
        system.Relays.Database1.Set(new RelayFault(Splits: true));
        var sent = new LoadLedger();

        await system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(300));
        await LoadDriver.RunClientsAsync(system.Api1, sent, clients: 64, Payments, TimeSpan.Zero);
        await system.Default.SetDelayAsync(TimeSpan.Zero);

        await LedgerCheck.AgreesAsync(system, sent);
        Assert.All(sent.Entries, entry => Assert.Equal(LoadOutcome.Acknowledged, entry.Outcome));
        // A batch is an answer, and the larger the load the fewer there are.
        Assert.InRange(system.Relays.Database1.Split, 20, int.MaxValue);
    }
}
