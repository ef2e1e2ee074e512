namespace PaymentGateway.Tests.Simulating;

/// <summary>POST /payments of the simulator; ConformanceVerbTests have the rules of any processor.</summary>
public sealed class ChargingTests : OneSimulator
{
    private readonly Guid _id = Guid.NewGuid();

    [Fact]
    public async Task A_duplicate_is_noticed_at_the_insert_and_not_on_arrival()
    {
        await Simulator.SetDelayAsync(TimeSpan.FromSeconds(1));
        var first = Simulator.Client.ChargeAsync(_id);
        var second = Simulator.Client.ChargeAsync(_id);
        await DelayedAsync(2);

        Clock.Advance(TimeSpan.FromSeconds(1));
        var answers = await Task.WhenAll(first, second);

        Assert.Equal(
            [HttpStatusCode.OK, HttpStatusCode.UnprocessableEntity],
            answers.Select(answer => answer.StatusCode).Order());
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task The_delay_comes_before_the_insert_also_of_a_payment_that_was_in_it_at_a_purge(bool isPurged)
    {
        await Simulator.SetDelayAsync(TimeSpan.FromSeconds(2));
        var call = Simulator.Client.ChargeAsync(_id);
        await DelayedAsync(1);

        Clock.Advance(TimeSpan.FromMilliseconds(1999));
        using var early = await Simulator.Client.LookUpAsync(_id);
        Assert.Equal(HttpStatusCode.NotFound, early.StatusCode);
        Assert.False(call.IsCompleted);
        if (isPurged)
            await Simulator.PurgeAsync();
        Clock.Advance(TimeSpan.FromMilliseconds(1));

        Assert.Equal(HttpStatusCode.OK, (await call).StatusCode);
        Assert.Single(await Simulator.PaymentsAsync());
    }

    [Theory]
    [InlineData(true, HttpStatusCode.InternalServerError)]
    [InlineData(false, HttpStatusCode.OK)]
    public async Task The_failure_switch_is_read_after_the_delay(bool failingAfterwards, HttpStatusCode expected)
    {
        await Simulator.SetDelayAsync(TimeSpan.FromSeconds(1));
        await Simulator.SetFailureAsync(!failingAfterwards);
        var call = Simulator.Client.ChargeAsync(_id);
        await DelayedAsync(1);

        await Simulator.SetFailureAsync(failingAfterwards);
        Clock.Advance(TimeSpan.FromSeconds(1));

        using var answer = await call;
        Assert.Equal(expected, answer.StatusCode);
        Assert.Equal(failingAfterwards, await answer.Content.ReadAsStringAsync() == "");
        Assert.Equal(failingAfterwards ? 0 : 1, (await Simulator.PaymentsAsync()).Count);
    }

    [Theory]
    [InlineData("")]
    [InlineData("null")]
    [InlineData("{")]
    [InlineData("""{"amount":1,"requestedAt":"2025-07-15T12:34:56Z"}""")]
    [InlineData("""{"correlationId":"4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3","requestedAt":"2025-07-15T12:34:56Z"}""")]
    [InlineData("""{"correlationId":"4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3","amount":1}""")]
    [InlineData("""{"correlationId":"no","amount":1,"requestedAt":"2025-07-15T12:34:56Z"}""")]
    [InlineData("""{"correlationId":"4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3","amount":1,"requestedAt":"noon"}""")]
    [InlineData("""
        {"correlationId":"4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3","amount":1,"requestedAt":"2025-07-15T12:34:56Z"} x
        """)]
    public async Task A_malformed_payment_gets_400_and_is_not_stored(string json)
    {
        using var answer = await Simulator.Client.PostAsync("payments", ProcessorRequests.Json(json));

        Assert.Equal(HttpStatusCode.BadRequest, answer.StatusCode);
        Assert.Empty(await Simulator.PaymentsAsync());
    }

    [Fact]
    public async Task A_payment_that_is_not_declared_as_JSON_gets_415()
    {
        using var content = ProcessorRequests.Payment(_id);
        content.Headers.ContentType = null;

        using var answer = await Simulator.Client.PostAsync("payments", content);

        Assert.Equal(HttpStatusCode.UnsupportedMediaType, answer.StatusCode);
        Assert.Empty(await Simulator.PaymentsAsync());
    }

    [Fact]
    public async Task A_look_up_finds_the_payment_as_it_was_first_stored_whatever_the_switches_say()
    {
        using var unknown = await Simulator.Client.LookUpAsync(_id);
        using var charge = await Simulator.Client.ChargeAsync(_id, 19.9m);
        using var second = await Simulator.Client.ChargeAsync(_id, 20m);
        // The switches neither delay a look-up nor fail it.
        await Simulator.SetDelayAsync(TimeSpan.FromHours(1));
        await Simulator.SetFailureAsync(true);

        using var answer = await Simulator.Client.LookUpAsync(_id);

        Assert.Equal(
            (HttpStatusCode.NotFound, HttpStatusCode.UnprocessableEntity), (unknown.StatusCode, second.StatusCode));
        Assert.Equal("", await unknown.Content.ReadAsStringAsync());
        Assert.Equal("application/json", charge.Content.Headers.ContentType?.MediaType);
        Assert.Equal("""{"message":"payment processed successfully"}""", await charge.Content.ReadAsStringAsync());
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        Assert.Equal(
            $$"""{"correlationId":"{{_id}}","amount":19.90,"requestedAt":"2025-07-15T12:34:56.123456Z"}""",
            await answer.Content.ReadAsStringAsync());
    }

    private Task DelayedAsync(int payments) =>
        Eventually.HoldsAsync(() => Clock.ArmedTimers == payments, $"{payments} payments are in their delay");
}
