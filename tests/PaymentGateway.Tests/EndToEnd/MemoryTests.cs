using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tests.EndToEnd;

[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class MemoryTests(ITestOutputHelper output)
{
    private const int Payments = 10_000;
    private const long Megabyte = 1024 * 1024;

    // In a container the runtime by itself limits its heap to three quarters of the memory. This is hexadecimal.
    private static readonly string HeapLimit =
        $"{ComposeSplit.Read()[GatewaySystem.First].MemoryBytes * 3 / 4:x}";

    private static readonly string[] Parts = ["nginx", GatewaySystem.First, GatewaySystem.Second, "postgres"];

    private readonly LoadLedger _ledger = new();

    [GatewaySystemFact]
    public async Task Every_part_fits_into_its_container_while_payments_wait_and_after_they_are_settled()
    {
        await using var system = await GatewaySystem.UpAsync(("DOTNET_GCHeapHardLimit", HeapLimit));
        await system.Default.SetFailureAsync(true);
        await system.Fallback.SetFailureAsync(true);
        await LoadDriver.RunClientsAsync(system.Client, _ledger, clients: 64, Payments, TimeSpan.Zero);
        _ledger.NoClientSawAnError();
        Assert.Equal(Payments, await system.Database.CountUnsettledAsync());
        AllFit(system, "while all wait");

        await system.Default.SetFailureAsync(false);
        await system.Fallback.SetFailureAsync(false);
        await LedgerCheck.AgreesAsync(system, _ledger);
        AllFit(system, "after all are settled");
    }

    private void AllFit(GatewaySystem system, string when)
    {
        foreach (var part in Parts)
        {
            var used = ProcessMemory.PssWithForkedBytes(system.PidOf(part));
            var limit = ComposeSplit.Read()[part].MemoryBytes;
            output.WriteLine($"{part} {when}: {used / Megabyte} of {limit / Megabyte} MB");
            Assert.InRange(used, 1, limit);
        }
    }
}
