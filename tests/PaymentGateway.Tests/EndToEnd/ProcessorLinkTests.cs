using System.Net;
using System.Net.NetworkInformation;
using PaymentGateway.Tests.Compose;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The published binary and its connections to a processor: by TLS, and made too late for its lease.</summary>
[Collection(OneAfterAnother.Name)]
public sealed class ProcessorLinkTests : IAsyncLifetime
{
    private readonly LoadLedger _ledger = new();
    private GatewaySystem _system = null!;

    public async Task InitializeAsync()
    {
        if (GatewaySystemParts.SkipReason is null)
            _system = await GatewaySystem.UpAsync();
    }

    public async Task DisposeAsync()
    {
        if (_system is not null)
            await _system.DisposeAsync();
    }

    [GatewaySystemFact]
    public async Task Processors_behind_TLS_are_charged_looked_up_and_in_the_ledger()
    {
        using var certificate = SelfSigned.Create();
        var trusted = Path.GetTempFileName();
        await File.WriteAllTextAsync(trusted, certificate.ExportCertificatePem());
        await using var defaultFront = ProcessorFront.Open(_system.Default.BaseAddress, certificate);
        await using var fallbackFront = ProcessorFront.Open(_system.Fallback.BaseAddress, certificate);
        await using (var instance = await StartInsteadAsync(
            ("Gateway__Processors__Default__BaseUrl", $"{defaultFront.BaseAddress}"),
            ("Gateway__Processors__Fallback__BaseUrl", $"{fallbackFront.BaseAddress}"), ("SSL_CERT_FILE", trusted),
            ("Gateway__Routing__FallbackAfter", "0s")))
        {
            await _system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(100));
            await _system.Default.SetFaultsAsync(new { afterInsert = "reset", times = 1 });
            await LoadDriver.RunClientsAsync(_system.Client, _ledger, clients: 10, payments: 200, TimeSpan.Zero);
            await LedgerCheck.AgreesAsync(_system, _ledger);
            Assert.True((await _system.Default.CallsAsync()).Lookups > 0, "nothing was looked up");

            await _system.Default.SetFailureAsync(true);
            await LoadDriver.RunClientsAsync(_system.Client, _ledger, clients: 10, payments: 50, TimeSpan.Zero);
            await LedgerCheck.AgreesAsync(_system, _ledger);

            // OpenSSL is loaded by name only when it is needed, so `readelf` does not show it (DockerfileTests).
            Assert.Contains("libssl.so.3", instance.Libraries());
            string[] known = [.. DockerfileTests.BaseLibraries, "libz.so.1"];
            Assert.DoesNotContain(
                instance.Libraries(), library => !known.Any(one => library.StartsWith(one, StringComparison.Ordinal)));
        }

        _ledger.NoClientSawAnError();
        Assert.NotEmpty(await _system.Default.PaymentsAsync());
        Assert.NotEmpty(await _system.Fallback.PaymentsAsync());
        File.Delete(trusted);
    }

    [GatewaySystemFact]
    public async Task A_charge_whose_connection_is_made_after_the_lease_has_expired_is_not_sent()
    {
        await using var front = await ProcessorFront.FullAsync(_system.Default.BaseAddress);
        await using (await StartInsteadAsync(
            ("Gateway__Processors__Default__BaseUrl", $"{front.BaseAddress}"),
            ("Gateway__Settling__ConnectTimeout", "60s"), ("Gateway__Settling__CallTimeout", "60s"),
            ("Gateway__Settling__InDoubtHorizon", "60s"),
            ("Gateway__Leasing__LeaseDuration", "1s"), ("Gateway__Leasing__RenewInterval", "200ms"),
            // The instances before it have asked: nothing but the charge makes a connection.
            ("Gateway__Routing__HealthInterval", "10m")))
        {
            await LoadDriver.PostAsync(_system.Client, _ledger);
            await Eventually.HoldsAsync(() => front.HasClient(TcpState.SynSent), "the charge waits for its connection");
            _system.Database.Freeze();
            await Eventually.HoldsAsync(async () => !await IsReadyAsync(), "the lease has expired");

            front.Open();
            await Eventually.HoldsAsync(() => front.Silent + front.Heard.Length > 0, "the connection is made and ends");
            var heard = front.Heard;
            _system.Database.Thaw();

            Assert.Equal("", heard);
            await LedgerCheck.AgreesAsync(_system, _ledger);
            Assert.Contains("POST", front.Heard, StringComparison.Ordinal);
        }
    }

    /// <summary>One instance instead of both.</summary>
    private async Task<GatewaySystemInstance> StartInsteadAsync(params (string Name, string Value)[] variables)
    {
        var settings = _system.ChildSettings(GatewaySystem.First);
        foreach (var (name, value) in variables)
            settings[name] = value;
        await Eventually.HoldsAsync(
            async () => (await _system.Default.CallsAsync()).HealthCalls > 0
                && (await _system.Fallback.CallsAsync()).HealthCalls > 0,
            "both processors were asked for their health");
        await _system.StopAsync(GatewaySystem.First, GatewaySystem.Second);
        var instance = GatewaySystemInstance.Start(settings);
        await Eventually.HoldsAsync(IsReadyAsync, "the instance is ready");
        return instance;
    }

    private async Task<bool> IsReadyAsync()
    {
        using var answer = await _system.Client.GetAsync("readyz");
        return answer.StatusCode == HttpStatusCode.OK;
    }
}
