namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// A connection costs PostgreSQL a process, a login and a first parse of each statement, so a load stays with those
/// that it has.
/// </summary>
[Collection(OneAfterAnother.Name)]
public sealed class ServerProcessTests(RunningSystem running)
{
    private const int ConnectionsMax = 2 * 8;

    [GatewaySystemFact]
    public async Task A_load_starts_no_further_PostgreSQL_processes()
    {
        var system = running.System;
        await system.ResetAsync();
        var ledger = new LoadLedger();
        var (before, renewing) = await PayAsync(system, ledger, 100);

        var (after, _) = await PayAsync(system, ledger, 400);

        Assert.InRange(renewing.Count, 1, 4);
        // A renewal that takes too long breaks its own connection off, load or none.
        before.ExceptWith(renewing);
        Assert.NotEmpty(before);
        Assert.Subset(after, before);
        Assert.InRange(after.Count, 1, ConnectionsMax);
    }

    /// <summary>The server processes after a load, and those that renew leases.</summary>
    private static async Task<(HashSet<int> All, HashSet<int> Renewing)> PayAsync(
        GatewaySystem system, LoadLedger ledger, int payments)
    {
        await LoadDriver.RunClientsAsync(system.Client, ledger, clients: 8, payments, TimeSpan.Zero);
        await LedgerCheck.AgreesAsync(system, ledger);
        return await system.Database.ServerProcessesAsync();
    }
}
