namespace PaymentGateway.Tests.EndToEnd;

[Collection(OneAfterAnother.Name)]
public sealed class ProcessorLinkTests
{
    [GatewaySystemFact]
    public async Task Processors_behind_TLS_are_charged_looked_up_and_in_the_ledger()
    {
        await using var system = await GatewaySystem.UpAsync();
        var ledger = new LoadLedger();
        using var certificate = SelfSigned.Create();
        var trusted = Path.GetTempFileName();
        await File.WriteAllTextAsync(trusted, certificate.ExportCertificatePem());
        await using var defaultFront = ProcessorFront.Open(system.Default.BaseAddress, certificate);
        await using var fallbackFront = ProcessorFront.Open(system.Fallback.BaseAddress, certificate);
        var settings = system.ChildSettings(GatewaySystem.First);
        settings["Gateway__Processors__Default__BaseUrl"] = $"{defaultFront.BaseAddress}";
        settings["Gateway__Processors__Fallback__BaseUrl"] = $"{fallbackFront.BaseAddress}";
        settings["Gateway__Routing__FallbackAfter"] = "0s";
        settings["SSL_CERT_FILE"] = trusted;
        await system.StopAsync(GatewaySystem.First, GatewaySystem.Second);
        await using (var instance = GatewaySystemInstance.Start(settings))
        {
            await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(system.Client), "the instance is ready");
            await system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(100));
            await system.Default.SetFaultsAsync(new { afterInsert = "reset", times = 1 });
            await LoadDriver.RunClientsAsync(system.Client, ledger, clients: 10, payments: 200, TimeSpan.Zero);
            await LedgerCheck.AgreesAsync(system, ledger);
            Assert.True((await system.Default.CallsAsync()).Lookups > 0, "nothing was looked up");

            await system.Default.SetFailureAsync(true);
            await LoadDriver.RunClientsAsync(system.Client, ledger, clients: 10, payments: 50, TimeSpan.Zero);
            await LedgerCheck.AgreesAsync(system, ledger);

            // OpenSSL is loaded by name only when it is needed, so `readelf` does not show it (DockerfileTests).
            Assert.Contains("libssl.so.3", instance.Libraries());
            string[] known = [.. DockerfileTests.BaseLibraries, "libz.so.1"];
            Assert.DoesNotContain(
                instance.Libraries(), library => !known.Any(one => library.StartsWith(one, StringComparison.Ordinal)));
        }

        ledger.NoClientSawAnError();
        Assert.NotEmpty(await system.Default.PaymentsAsync());
        Assert.NotEmpty(await system.Fallback.PaymentsAsync());
        File.Delete(trusted);
    }
}
