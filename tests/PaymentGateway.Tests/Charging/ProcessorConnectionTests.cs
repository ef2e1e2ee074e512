using System.Net.NetworkInformation;

namespace PaymentGateway.Tests.Charging;

public sealed class ProcessorConnectionTests : OneLane
{
    private static readonly TimeSpan Soon = TimeSpan.FromSeconds(20);

    private readonly Payment _payment = Batches.NewCharge();

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_charge_to_a_closed_port_or_an_unknown_name_is_refused(bool isPort)
    {
        await using var nobody = NewLanes(isPort ? ClosedPort() : new Uri("http://processor.invalid:8080"));

        var outcome = await nobody.Default.Client.ChargeAsync(_payment);

        Assert.Equal(ChargeResult.Refused, outcome.Result);
        Assert.Equal(LookupResult.Unknown, (await nobody.Default.Client.LookUpAsync(_payment.Id)).Result);
        Assert.Null(await nobody.Default.Client.AskHealthAsync());
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_charge_whose_connection_or_TLS_handshake_is_not_made_in_time_is_refused(bool isTls)
    {
        using var mute = new TcpListener(IPAddress.Loopback, 0);
        mute.Start();
        await using var front = await ProcessorFront.FullAsync(Simulator.BaseAddress);
        await using var lanes = NewLanes(
            isTls ? new Uri($"https://{mute.LocalEndpoint}") : front.BaseAddress, connectTimeout: "200ms");

        var outcome = await lanes.Default.Client.ChargeAsync(_payment).AsTask().WaitAsync(Soon);

        Assert.Equal(ChargeResult.Refused, outcome.Result);
    }

    [Fact]
    public async Task A_call_that_times_out_without_a_connection_is_refused_and_no_later_connection_sends_it()
    {
        await using var front = await ProcessorFront.FullAsync(Simulator.BaseAddress);
        await using var lanes = NewLanes(front.BaseAddress);
        var charging = lanes.Default.Client.ChargeAsync(_payment).AsTask();
        await Eventually.HoldsAsync(() => front.HasClient(TcpState.SynSent), "the connection is being made");

        Clock.Advance(CallTimeout);
        Assert.Equal(ChargeResult.Refused, (await charging.WaitAsync(Soon)).Result);
        front.Open();
        await Eventually.HoldsAsync(() => front.Connections == 1, "the connection is made");
        Assert.Equal(ChargeResult.Settled, (await lanes.Default.Client.ChargeAsync(Batches.NewCharge())).Result);

        Assert.Equal(1, (await Simulator.CallsAsync()).Posts);
        Assert.False((await Simulator.PaymentsAsync()).ContainsKey(_payment.Id));
    }

    [Theory]
    [InlineData("expired")]
    [InlineData("lost to another epoch")]
    [InlineData("ended")]
    public async Task A_payment_that_is_not_ours_any_more_when_the_connection_is_made_is_not_sent(string reason)
    {
        await using var front = await ProcessorFront.FullAsync(Simulator.BaseAddress);
        await using var lanes = NewLanes(front.BaseAddress);
        var charging = lanes.Default.Client.ChargeAsync(_payment).AsTask();
        await Eventually.HoldsAsync(() => front.HasClient(TcpState.SynSent), "the connection is being made");

        if (reason == "ended")
            lanes.Lease.Current.End();
        else if (reason == "expired")
            lanes.Lease.Current.Trust(0);
        else
            lanes.HoldLease(_payment.Epoch + 1);
        front.Open();

        Assert.Equal(ChargeResult.Refused, (await charging.WaitAsync(Soon)).Result);
        await Eventually.HoldsAsync(() => front.Silent == 1, "the connection is closed without a byte");
        Assert.Empty(front.Heard);
        Assert.Equal(0, (await Simulator.CallsAsync()).Posts);
    }

    // Otherwise each takeover would open the circuit of a healthy processor, and payments would go to a dearer one.
    [Fact]
    public async Task Charges_that_this_instance_does_not_send_leave_the_circuit_closed()
    {
        await using var lanes = NewLanes(Simulator.BaseAddress);
        lanes.Lease.Current.End();

        // Failures of a quarter of a second open a circuit.
        for (var charge = 0; charge < 5; charge++)
        {
            Assert.Equal(ChargeResult.Refused, (await lanes.Default.Client.ChargeAsync(_payment)).Result);
            Clock.Advance(TimeSpan.FromMilliseconds(200));
        }

        Assert.Equal(Circuit.Closed, lanes.Default.Health.Circuit);
        Assert.Equal(Availability.Usable, lanes.Default.Health.Read().Availability);
        Assert.Equal(0, (await Simulator.CallsAsync()).Posts);
    }

    [Fact]
    public async Task Calls_at_once_have_a_connection_each_and_the_next_ones_use_these()
    {
        await Simulator.SetFaultsAsync(new { beforeInsert = "hang" });
        await using var front = ProcessorFront.Open(Simulator.BaseAddress);
        await using var lanes = NewLanes(front.BaseAddress);
        for (var round = 1; round <= 3; round++)
        {
            var charges = Enumerable.Range(0, 20).Select(_ => ChargeNewAsync(lanes)).ToList();
            await Simulator.HoldsAsync(20);
            await Simulator.ClearFaultsAsync();
            Assert.All(await Task.WhenAll(charges), one => Assert.Equal(ChargeResult.Settled, one.Result));
            await Simulator.SetFaultsAsync(new { beforeInsert = "hang" });
        }

        Assert.Equal(LookupResult.NotFound, (await lanes.Default.Client.LookUpAsync(_payment.Id)).Result);
        Assert.Equal(20, front.Connections);
    }

    [Fact]
    public async Task A_connection_that_the_processor_has_closed_while_idle_is_not_used_again()
    {
        await using var front = ProcessorFront.Open(Simulator.BaseAddress);
        await using var lanes = NewLanes(front.BaseAddress);
        await ChargeNewAsync(lanes);
        front.HangUp();
        await Eventually.HoldsAsync(() => front.HasClient(TcpState.CloseWait), "its end has arrived");

        Assert.Equal(ChargeResult.Settled, (await ChargeNewAsync(lanes)).Result);

        Assert.Equal(2, front.Connections);
    }

    [Fact]
    public async Task A_processor_with_an_untrusted_certificate_gets_no_byte_of_the_charge()
    {
        using var certificate = SelfSigned.Create();
        await using var front = ProcessorFront.Open(Simulator.BaseAddress, certificate);
        await using var lanes = NewLanes(front.BaseAddress);

        var outcome = await lanes.Default.Client.ChargeAsync(_payment);
        while (lanes.Default.Health.Circuit == Circuit.Closed)
        {
            Assert.True(front.Connections < 10);
            Clock.Advance(TimeSpan.FromSeconds(0.1));
            await ChargeNewAsync(lanes);
        }

        Assert.Equal(ChargeResult.Refused, outcome.Result);
        Assert.Empty(front.Heard);
        Assert.Contains("UntrustedRoot", Assert.Single(lanes.ShownOf<ProcessorClient>()), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_certificate_missing_from_the_chain_is_not_fetched()
    {
        using var issuer = new TcpListener(IPAddress.Loopback, 0);
        issuer.Start();
        using var certificate = SelfSigned.Create(new Uri($"http://{issuer.LocalEndpoint}/issuer.crt"));
        await using var front = ProcessorFront.Open(Simulator.BaseAddress, certificate);
        await using var lanes = NewLanes(front.BaseAddress);

        Assert.Equal(ChargeResult.Refused, (await ChargeNewAsync(lanes)).Result);

        Assert.False(issuer.Pending());
    }

    private long Held(bool isHeld) => Clock.GetTimestamp() + Clock.TicksOf(TimeSpan.FromDays(isHeld ? 1 : -1));

    private static Task<ChargeOutcome> ChargeNewAsync(Stages lanes) =>
        lanes.Default.Client.ChargeAsync(Batches.NewCharge()).AsTask();

    private static Uri ClosedPort()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        return new Uri($"http://127.0.0.1:{((IPEndPoint)listener.LocalEndpoint).Port}");
    }
}
