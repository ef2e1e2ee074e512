using PaymentGateway.Processors;

namespace PaymentGateway.Tests.Processors;

/// <summary>What each answer of a processor, and each way of giving none, comes to.</summary>
public sealed class ProcessorClientTests : IAsyncLifetime
{
    private static readonly TimeSpan CallTimeout = TimeSpan.FromSeconds(10);

    // The time limit of a call is advanced by the test, so that a slow machine makes no answer late.
    private readonly FakeTimeProvider _clock = new();
    private readonly Payment _payment = Lanes.NewPayment();
    private SimulatedProcessor _processor = null!;
    private Lanes _lanes = null!;

    private ProcessorClient Client => _lanes.Default.Client;

    public async Task InitializeAsync()
    {
        _processor = await SimulatedProcessor.StartAsync();
        _lanes = NewLanes(_processor.BaseAddress);
    }

    public async Task DisposeAsync()
    {
        await _processor.ClearFaultsAsync();
        _lanes.Dispose();
        await _processor.DisposeAsync();
    }

    [Fact]
    public async Task A_200_settles_the_payment_with_the_amount_and_time_that_were_sent()
    {
        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal(new ChargeOutcome(ChargeResult.Settled), outcome);
        var stored = (await _processor.PaymentsAsync())[_payment.Id];
        Assert.Equal(19.90m, stored.Amount);
        Assert.Equal(_payment.RequestedAt, stored.RequestedAt.UtcDateTime);
    }

    [Fact]
    public async Task The_largest_amount_arrives_exactly()
    {
        var large = Lanes.NewPayment(Money.MaxCents);

        await Client.ChargeAsync(large);

        Assert.Equal(999_999_999_999.99m, (await _processor.PaymentsAsync())[large.Id].Amount);
    }

    [Fact]
    public async Task A_422_means_that_an_earlier_call_was_stored()
    {
        await Client.ChargeAsync(_payment);

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal(ChargeResult.AlreadyStored, outcome.Result);
    }

    [Theory]
    [InlineData("tooMany", true, "Refused", false)]
    [InlineData("status", 400, "Rejected", false)]
    // Something in between may have passed the call on before it said so.
    [InlineData("status", 401, "InDoubt", false)]
    [InlineData("status", 403, "InDoubt", false)]
    [InlineData("status", 404, "InDoubt", false)]
    [InlineData("status", 405, "InDoubt", false)]
    [InlineData("status", 408, "InDoubt", false)]
    [InlineData("status", 409, "InDoubt", false)]
    [InlineData("status", 410, "InDoubt", false)]
    [InlineData("garbage", true, "InDoubt", false)]
    [InlineData("beforeInsert", "reset", "InDoubt", false)]
    [InlineData("afterInsert", "reset", "InDoubt", true)]
    [InlineData("afterInsert", "errorBody", "InDoubt", true)]
    public async Task A_charge_is_judged_by_what_its_answer_proves(
        string fault, object value, string result, bool isStored)
    {
        await _processor.SetFaultsAsync(new Dictionary<string, object> { [fault] = value });

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal(result, $"{outcome.Result}");
        Assert.Equal(fault == "tooMany" ? TimeSpan.FromSeconds(1) : (TimeSpan?)null, outcome.RetryAfter);
        if (fault == "status")
            Assert.Equal($"{value}", outcome.Reason);
        Assert.Equal(isStored, (await _processor.PaymentsAsync()).ContainsKey(_payment.Id));
    }

    [Fact]
    public async Task A_500_without_a_body_is_a_refusal()
    {
        await _processor.SetFailureAsync(true);

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal((ChargeResult.Refused, null), (outcome.Result, outcome.RetryAfter));
        Assert.Empty(await _processor.PaymentsAsync());
    }

    [Theory]
    [InlineData("beforeInsert", "hang")]
    [InlineData("afterInsert", "hang")]
    [InlineData("trickle", true)] // The whole answer takes 20 s.
    public async Task A_charge_whose_answer_is_not_whole_in_time_is_in_doubt_and_charged_all_the_same(
        string fault, object value)
    {
        await _processor.SetFaultsAsync(new Dictionary<string, object> { [fault] = value });

        var call = Client.ChargeAsync(_payment).AsTask();
        await (fault == "beforeInsert" ? _processor.HoldsAsync(1) : IsStoredAsync());
        _clock.Advance(CallTimeout - TimeSpan.FromMilliseconds(1));
        Assert.False(call.IsCompleted);
        _clock.Advance(TimeSpan.FromMilliseconds(1));

        Assert.Equal(ChargeResult.InDoubt, (await call.WaitAsync(TimeSpan.FromSeconds(10))).Result);
        await _processor.ClearFaultsAsync();
        await IsStoredAsync();
    }

    [Fact]
    public async Task A_call_that_breaks_on_a_used_connection_is_not_sent_again()
    {
        await Client.ChargeAsync(Lanes.NewPayment());
        await _processor.SetFaultsAsync(new { beforeInsert = "reset", times = 1 });

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal(ChargeResult.InDoubt, outcome.Result);
        Assert.Equal(2, (await _processor.CallsAsync()).Posts);
        Assert.False((await _processor.PaymentsAsync()).ContainsKey(_payment.Id));
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
        await _processor.SetFailureAsync(true);
        await _processor.SetDelayAsync(TimeSpan.FromMilliseconds(7));

        var report = await Client.AskHealthAsync();

        Assert.Equal(new HealthReport(true, TimeSpan.FromMilliseconds(7), TimeSpan.Zero), report);
    }

    [Theory]
    [InlineData("tooMany")]
    [InlineData("garbage")]
    [InlineData("hang")]
    public async Task A_health_call_without_a_readable_answer_in_time_reports_nothing(string fault)
    {
        await _processor.SetFaultsAsync(new { health = fault });

        var call = Client.AskHealthAsync();
        await Eventually.HoldsAsync(
            async () => call.IsCompleted || (await _processor.CallsAsync()).HealthCalls == 1, "the call is there");
        if (fault == "hang")
            _clock.Advance(CallTimeout);

        Assert.Null(await call.WaitAsync(TimeSpan.FromSeconds(10)));
    }

    [Fact]
    public async Task A_base_address_with_a_path_is_kept()
    {
        using var below = NewLanes(new Uri(_processor.BaseAddress, "nothing/here"));

        var outcome = await below.Default.Client.ChargeAsync(_payment);

        Assert.Equal((ChargeResult.InDoubt, "404"), (outcome.Result, outcome.Reason));
    }

    private Lanes NewLanes(Uri defaultUrl) => Lanes.Build(
        defaultUrl, _processor.BaseAddress, _clock, ("Gateway:Settling:CallTimeout", $"{CallTimeout.TotalSeconds}s"));

    private Task IsStoredAsync() => Eventually.HoldsAsync(
        async () => (await _processor.PaymentsAsync()).ContainsKey(_payment.Id), "the payment is stored");
}
