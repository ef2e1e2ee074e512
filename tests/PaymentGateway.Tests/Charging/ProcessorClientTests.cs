namespace PaymentGateway.Tests.Charging;

public sealed class ProcessorClientTests : OneLane
{
    private readonly Payment _payment = Batches.NewCharge();

    private ProcessorClient Client => Lanes.Default.Client;

    [Theory]
    [InlineData(1990, "19.90")]
    [InlineData(Money.MaxCents, "999999999999.99")]
    public async Task A_200_settles_the_payment_with_the_amount_and_time_that_were_sent(long cents, string amount)
    {
        var payment = Batches.NewCharge(cents);

        Assert.Equal(new ChargeOutcome(ChargeResult.Settled), await Client.ChargeAsync(payment));

        var stored = (await Simulator.PaymentsAsync())[payment.Id];
        Assert.Equal(amount, stored.Amount.ToString(CultureInfo.InvariantCulture));
        Assert.Equal(payment.RequestedAt, stored.RequestedAt.UtcDateTime);
    }

    [Theory]
    [InlineData("tooMany", true, "Refused", false)]
    [InlineData("status", 400, "Rejected", false)]
    // Something in between may have passed the call on before it said so.
    [InlineData("status", 401, "Unclear", false)]
    [InlineData("status", 404, "Unclear", false)]
    [InlineData("status", 408, "Unclear", false)]
    [InlineData("status", 409, "Unclear", false)]
    [InlineData("garbage", true, "Unclear", false)]
    [InlineData("beforeInsert", "reset", "Unclear", false)]
    [InlineData("afterInsert", "reset", "Unclear", true)]
    [InlineData("afterInsert", "errorBody", "Unclear", true)]
    public async Task A_charge_is_judged_by_what_its_answer_proves(
        string fault, object value, string result, bool isStored)
    {
        await Simulator.SetFaultsAsync(new Dictionary<string, object> { [fault] = value });

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal(result, $"{outcome.Result}");
        Assert.Equal(fault == "tooMany" ? TimeSpan.FromSeconds(1) : (TimeSpan?)null, outcome.RetryAfter);
        if (fault == "status")
            Assert.Equal($"{value}", outcome.Reason);
        Assert.Equal(isStored, (await Simulator.PaymentsAsync()).ContainsKey(_payment.Id));
    }

    [Theory]
    [InlineData("beforeInsert", "hang")]
    [InlineData("afterInsert", "hang")]
    [InlineData("trickle", true)] // The whole answer takes 20 s.
    public async Task A_charge_whose_answer_is_not_whole_in_time_is_in_doubt_and_charged_all_the_same(
        string fault, object value)
    {
        await Simulator.SetFaultsAsync(new Dictionary<string, object> { [fault] = value });

        var call = Client.ChargeAsync(_payment).AsTask();
        await (fault == "beforeInsert" ? Simulator.HoldsAsync(1) : IsStoredAsync());
        Clock.Advance(CallTimeout - TimeSpan.FromMilliseconds(1));
        Assert.False(call.IsCompleted);
        Clock.Advance(TimeSpan.FromMilliseconds(1));

        Assert.Equal(ChargeResult.Unclear, (await call.WaitAsync(TimeSpan.FromSeconds(10))).Result);
        await Simulator.ClearFaultsAsync();
        await IsStoredAsync();
    }

    [Fact]
    public async Task A_call_that_breaks_on_a_used_connection_is_not_sent_again()
    {
        await Client.ChargeAsync(Batches.NewCharge());
        await Simulator.SetFaultsAsync(new { beforeInsert = "reset", times = 1 });

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal(ChargeResult.Unclear, outcome.Result);
        Assert.Equal(2, (await Simulator.CallsAsync()).Posts);
        Assert.False((await Simulator.PaymentsAsync()).ContainsKey(_payment.Id));
    }

    [Fact]
    public async Task A_look_up_returns_what_the_processor_has_stored()
    {
        Assert.Equal(new LookupOutcome(LookupResult.NotFound), await Client.LookUpAsync(_payment.Id));

        await Client.ChargeAsync(_payment);

        var found = await Client.LookUpAsync(_payment.Id);
        Assert.Equal(new LookupOutcome(LookupResult.Found, 1990, _payment.RequestedAt), found);
        Assert.Equal(DateTimeKind.Utc, found.RequestedAt.Kind);
    }

    [Fact]
    public async Task The_processors_health_report_is_returned()
    {
        await Simulator.SetFailureAsync(true);
        await Simulator.SetDelayAsync(TimeSpan.FromMilliseconds(7));

        var report = await Client.AskHealthAsync();

        Assert.Equal(new HealthReport(true, TimeSpan.FromMilliseconds(7), TimeSpan.Zero), report);
    }

    [Theory]
    [InlineData("tooMany")]
    [InlineData("garbage")]
    [InlineData("hang")]
    public async Task A_health_call_without_a_readable_answer_in_time_reports_nothing(string fault)
    {
        await Simulator.SetFaultsAsync(new { health = fault });

        var call = Client.AskHealthAsync();
        await Eventually.HoldsAsync(
            async () => call.IsCompleted || (await Simulator.CallsAsync()).HealthCalls == 1, "the call is there");
        if (fault == "hang")
            Clock.Advance(CallTimeout);

        Assert.Null(await call.WaitAsync(TimeSpan.FromSeconds(10)));
    }

    [Fact]
    public async Task A_base_address_with_a_path_is_kept()
    {
        await using var below = NewLanes(new Uri(Simulator.BaseAddress, "nothing/here"));

        var outcome = await below.Default.Client.ChargeAsync(_payment);

        Assert.Equal((ChargeResult.Unclear, "404"), (outcome.Result, outcome.Reason));
    }

    // .NET 8 lets a bare SocketException out when the peer resets a connection that was just made. A handler throws it,
    // because that moment cannot be arranged.
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_call_that_breaks_by_any_exception_resolves_and_reports_nothing(bool isSocket)
    {
        var options = TestSettings.Read();
        Exception failure = isSocket
            ? new SocketException((int)SocketError.NotConnected)
            : new InvalidOperationException("whatever");
        using var metrics = new GatewayMetrics(options);
        using var client = new ProcessorClient(
            options.Processors.All[0], options, new Failing(failure), Lanes.Lease, metrics, Clock,
            NullLogger<ProcessorClient>.Instance);

        Assert.Equal(LookupResult.Unknown, (await client.LookUpAsync(Guid.NewGuid())).Result);
        Assert.Null(await client.AskHealthAsync());
        // Before its first byte.
        Assert.Equal(ChargeResult.Refused, (await client.ChargeAsync(_payment)).Result);
    }

    private Task IsStoredAsync() => Eventually.HoldsAsync(
        async () => (await Simulator.PaymentsAsync()).ContainsKey(_payment.Id), "the payment is stored");

    private sealed class Failing(Exception failure) : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken) =>
            Task.FromException<HttpResponseMessage>(failure);
    }
}
