using Microsoft.Extensions.Time.Testing;
using PaymentGateway.Processors;
using PaymentGateway.Routing;
using PaymentGateway.Tests.Support;

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
        await _lanes.DisposeAsync();
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

    [Fact]
    public async Task A_429_is_a_refusal_with_the_pause_that_was_asked_for()
    {
        await _processor.SetFaultsAsync(new { tooMany = true });

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal((ChargeResult.Refused, TimeSpan.FromSeconds(1)), (outcome.Result, outcome.RetryAfter));
        Assert.Empty(await _processor.PaymentsAsync());
    }

    [Fact]
    public async Task A_500_without_a_body_is_a_refusal()
    {
        await _processor.SetFailureAsync(true);

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal((ChargeResult.Refused, null), (outcome.Result, outcome.RetryAfter));
        Assert.Empty(await _processor.PaymentsAsync());
    }

    [Fact]
    public async Task A_400_is_a_rejection()
    {
        await _processor.SetFaultsAsync(new { status = 400 });

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal((ChargeResult.Rejected, "400"), (outcome.Result, outcome.Reason));
    }

    // Something in between may have passed the call on before it said so.
    [Theory]
    [InlineData(401)]
    [InlineData(403)]
    [InlineData(404)]
    [InlineData(405)]
    [InlineData(408)]
    [InlineData(409)]
    [InlineData(410)]
    public async Task Another_4xx_comes_from_an_intermediary_and_leaves_the_payment_in_doubt(int status)
    {
        await _processor.SetFaultsAsync(new { status });

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal((ChargeResult.InDoubt, $"{status}"), (outcome.Result, outcome.Reason));
    }

    [Theory]
    [InlineData("errorBody")]
    [InlineData("reset")]
    public async Task A_charge_that_may_have_been_stored_is_in_doubt(string fault)
    {
        await _processor.SetFaultsAsync(new { afterInsert = fault });

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal(ChargeResult.InDoubt, outcome.Result);
        Assert.True((await _processor.PaymentsAsync()).ContainsKey(_payment.Id));
    }

    [Fact]
    public async Task A_charge_that_breaks_before_it_is_stored_is_in_doubt_as_well()
    {
        await _processor.SetFaultsAsync(new { beforeInsert = "reset" });

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal(ChargeResult.InDoubt, outcome.Result);
    }

    [Fact]
    public async Task A_charge_with_a_meaningless_answer_is_in_doubt()
    {
        await _processor.SetFaultsAsync(new { garbage = true });

        var outcome = await Client.ChargeAsync(_payment);

        Assert.Equal(ChargeResult.InDoubt, outcome.Result);
    }

    [Fact]
    public async Task A_call_that_takes_too_long_is_in_doubt_and_is_charged_all_the_same()
    {
        await _processor.SetFaultsAsync(new { beforeInsert = "hang" });

        var outcome = await TimeOutAsync(Client.ChargeAsync(_payment).AsTask(), stored: false);

        Assert.Equal(ChargeResult.InDoubt, outcome.Result);
        await _processor.ClearFaultsAsync();
        await Eventually.HoldsAsync(
            async () => (await _processor.PaymentsAsync()).ContainsKey(_payment.Id), "the payment is stored");
    }

    [Fact]
    public async Task A_charge_without_an_answer_is_in_doubt()
    {
        await _processor.SetFaultsAsync(new { afterInsert = "hang" });

        var outcome = await TimeOutAsync(Client.ChargeAsync(_payment).AsTask(), stored: true);

        Assert.Equal(ChargeResult.InDoubt, outcome.Result);
    }

    [Fact]
    public async Task An_answer_that_trickles_in_is_abandoned_in_time()
    {
        await _processor.SetFaultsAsync(new { trickle = true }); // The whole answer takes 20 s.

        var outcome = await TimeOutAsync(Client.ChargeAsync(_payment).AsTask(), stored: true);

        Assert.Equal(ChargeResult.InDoubt, outcome.Result);
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
    public async Task Without_a_readable_answer_there_is_no_health_report(string fault)
    {
        await _processor.SetFaultsAsync(new { health = fault });

        Assert.Null(await Client.AskHealthAsync());
    }

    [Fact]
    public async Task A_health_call_that_hangs_is_abandoned_in_time()
    {
        await _processor.SetFaultsAsync(new { health = "hang" });
        var call = Client.AskHealthAsync();
        await Eventually.HoldsAsync(async () => (await _processor.CallsAsync()).HealthCalls == 1, "the call is there");

        _clock.Advance(CallTimeout);

        Assert.Null(await call.WaitAsync(TimeSpan.FromSeconds(10)));
    }

    [Fact]
    public async Task A_base_address_with_a_path_is_kept()
    {
        await using var below = NewLanes(new Uri(_processor.BaseAddress, "nothing/here"));

        var outcome = await below.Default.Client.ChargeAsync(_payment);

        Assert.Equal((ChargeResult.InDoubt, "404"), (outcome.Result, outcome.Reason));
    }

    private Lanes NewLanes(Uri defaultUrl) => Lanes.Build(
        defaultUrl, _processor.BaseAddress, _clock, ("Gateway:Settling:CallTimeout", $"{CallTimeout.TotalSeconds}s"));

    /// <summary>Lets the call's time run out once the processor is at work on it.</summary>
    private async Task<ChargeOutcome> TimeOutAsync(Task<ChargeOutcome> call, bool stored)
    {
        if (stored)
            await Eventually.HoldsAsync(
                async () => (await _processor.PaymentsAsync()).ContainsKey(_payment.Id), "the payment is stored");
        else
            await _processor.HoldsAsync(1);
        _clock.Advance(CallTimeout - TimeSpan.FromMilliseconds(1));
        Assert.False(call.IsCompleted);
        _clock.Advance(TimeSpan.FromMilliseconds(1));
        return await call.WaitAsync(TimeSpan.FromSeconds(10));
    }
}
