namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The published binary and its connections to a processor by TLS.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class ProcessorLinkTests() : OwnSystem
{
    [GatewaySystemFact]
    public async Task Processors_behind_TLS_are_charged_looked_up_and_in_the_ledger()
    {
        using var certificate = SelfSigned.Create();
        var trusted = Path.GetTempFileName();
        await File.WriteAllTextAsync(trusted, certificate.ExportCertificatePem());
        await using var defaultFront = ProcessorFront.Open(System.Default.BaseAddress, certificate);
        await using var fallbackFront = ProcessorFront.Open(System.Fallback.BaseAddress, certificate);
        await using (var instance = await StartInsteadAsync(
            ("Gateway__Processors__Default__BaseUrl", $"{defaultFront.BaseAddress}"),
            ("Gateway__Processors__Fallback__BaseUrl", $"{fallbackFront.BaseAddress}"), ("SSL_CERT_FILE", trusted),
            ("Gateway__Routing__FallbackAfter", "0s")))
        {
            await System.Default.SetDelayAsync(TimeSpan.FromMilliseconds(100));
            await System.Default.SetFaultsAsync(new { afterInsert = "reset", times = 1 });
            await LoadDriver.RunClientsAsync(System.Client, Ledger, clients: 10, payments: 200, TimeSpan.Zero);
            await LedgerCheck.AgreesAsync(System, Ledger);
            Assert.True((await System.Default.CallsAsync()).Lookups > 0, "nothing was looked up");

            await System.Default.SetFailureAsync(true);
            await LoadDriver.RunClientsAsync(System.Client, Ledger, clients: 10, payments: 50, TimeSpan.Zero);
            await LedgerCheck.AgreesAsync(System, Ledger);

            // OpenSSL is loaded by name only when it is needed, so `readelf` does not show it (DockerfileTests).
            Assert.Contains("libssl.so.3", instance.Libraries());
            string[] known = [.. DockerfileTests.BaseLibraries, "libz.so.1"];
            Assert.DoesNotContain(
                instance.Libraries(), library => !known.Any(one => library.StartsWith(one, StringComparison.Ordinal)));
        }

        Ledger.NoClientSawAnError();
        Assert.NotEmpty(await System.Default.PaymentsAsync());
        Assert.NotEmpty(await System.Fallback.PaymentsAsync());
        File.Delete(trusted);
    }

    /// <summary>One instance instead of both.</summary>
    private async Task<GatewaySystemInstance> StartInsteadAsync(params (string Name, string Value)[] variables)
    {
        var settings = System.ChildSettings(GatewaySystem.First);
        foreach (var (name, value) in variables)
            settings[name] = value;
        await System.StopAsync(GatewaySystem.First, GatewaySystem.Second);
        var instance = GatewaySystemInstance.Start(settings);
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(System.Client), "the instance is ready");
        return instance;
    }
}
