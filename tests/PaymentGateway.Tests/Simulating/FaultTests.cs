namespace PaymentGateway.Tests.Simulating;

/// <summary>The faults that our own tests set, which the contract does not know.</summary>
public sealed class FaultTests : OneSimulator
{
    private readonly Guid _id = Guid.NewGuid();

    [Theory]
    [InlineData("beforeInsert", false)]
    [InlineData("afterInsert", true)]
    public async Task Reset_resets_the_connection_without_an_answer(string when, bool stored)
    {
        await Simulator.SetFaultsAsync(new Dictionary<string, string> { [when] = "reset" });
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(Simulator.BaseAddress.Host, Simulator.BaseAddress.Port);
        var body = await ProcessorRequests.Payment(_id).ReadAsStringAsync();
        await socket.SendAsync(Encoding.ASCII.GetBytes(
            "POST /payments HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" +
            $"Content-Length: {body.Length}\r\n\r\n{body}"));

        var broken = await Assert.ThrowsAsync<SocketException>(() => socket.ReceiveAsync(new byte[1]));

        Assert.Equal(SocketError.ConnectionReset, broken.SocketErrorCode);
        Assert.Equal(stored, await IsStoredAsync());
    }

    [Theory]
    [InlineData("tooMany", HttpStatusCode.TooManyRequests)]
    [InlineData("errorBody", HttpStatusCode.InternalServerError)]
    [InlineData("garbage", HttpStatusCode.OK)]
    public async Task A_look_up_may_fail_while_payments_do_not(string fault, HttpStatusCode status)
    {
        await Simulator.SetFaultsAsync(new { lookUp = fault });

        using var charged = await Simulator.Client.ChargeAsync(_id);
        using var answer = await Simulator.Client.GetAsync($"payments/{_id}");

        Assert.Equal((HttpStatusCode.OK, status), (charged.StatusCode, answer.StatusCode));
        Assert.DoesNotContain($"{_id}", await answer.Content.ReadAsStringAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_hang_after_the_insert_ends_when_the_caller_leaves()
    {
        await Simulator.SetFaultsAsync(new { afterInsert = "hang" });
        using var hangUp = new CancellationTokenSource();
        var call = Simulator.Client.ChargeAsync(_id, cancellation: hangUp.Token);
        await Eventually.HoldsAsync(IsStoredAsync, "the payment is stored");

        await hangUp.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call);
        await Eventually.HoldsAsync(
            async () => (await Simulator.CallsAsync()).InFlight == 0, "the call has ended");
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_hang_before_the_insert_stores_when_it_is_cleared_even_if_the_caller_left(bool leaves)
    {
        await Simulator.SetFaultsAsync(new { beforeInsert = "hang" });
        using var hangUp = new CancellationTokenSource();
        var call = Simulator.Client.ChargeAsync(_id, cancellation: hangUp.Token);
        await Simulator.HoldsAsync(1);
        Assert.False(await IsStoredAsync());

        if (leaves)
        {
            await hangUp.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call);
        }

        await Simulator.ClearFaultsAsync();

        if (!leaves)
            Assert.Equal(HttpStatusCode.OK, (await call).StatusCode);
        await Eventually.HoldsAsync(IsStoredAsync, "the payment is stored");
    }

    [Fact]
    public async Task Trickle_stores_the_payment_and_sends_a_byte_each_half_second()
    {
        await Simulator.SetFaultsAsync(new { trickle = true });
        var call = Simulator.Client.ChargeAsync(_id);
        var start = Clock.GetUtcNow();

        await Eventually.HoldsAsync(
            () =>
            {
                if (Clock.ArmedTimers == 1)
                    Clock.Advance(TimeSpan.FromMilliseconds(500));
                return call.IsCompleted;
            },
            "the last byte has come");

        using var answer = await call;
        Assert.Equal("""{"message":"payment processed successfully"}""", await answer.Content.ReadAsStringAsync());
        Assert.True(Clock.GetUtcNow() - start >= TimeSpan.FromSeconds(21));
        Assert.True(await IsStoredAsync());
    }

    [Theory]
    [InlineData("afterInsert", "errorBody", 500, true)]
    [InlineData("garbage", true, 200, false)]
    [InlineData("tooMany", true, 429, false)]
    [InlineData("status", 400, 400, false)]
    [InlineData("status", 404, 404, false)]
    public async Task A_faulty_answer_has_its_status_and_is_stored_only_when_it_should_be(
        string fault, object value, int status, bool isStored)
    {
        await Simulator.SetFaultsAsync(new Dictionary<string, object> { [fault] = value });

        using var answer = await Simulator.Client.ChargeAsync(_id);

        Assert.Equal(status, (int)answer.StatusCode);
        var body = await answer.Content.ReadAsStringAsync();
        if (fault == "garbage")
            Assert.ThrowsAny<JsonException>(() => JsonDocument.Parse(body));
        else if (fault == "tooMany")
            Assert.Equal("1", answer.Headers.GetValues("Retry-After").Single());
        else
            Assert.NotEmpty(body);
        Assert.Equal(isStored, await IsStoredAsync());
    }

    [Fact]
    public async Task A_fault_with_times_hits_only_so_many_payments()
    {
        await Simulator.SetFaultsAsync(new { tooMany = true, times = 2 });

        var answers = new List<HttpStatusCode>();
        for (var i = 0; i < 3; i++)
        {
            using var answer = await Simulator.Client.ChargeAsync(Guid.NewGuid());
            answers.Add(answer.StatusCode);
        }

        Assert.Equal([HttpStatusCode.TooManyRequests, HttpStatusCode.TooManyRequests, HttpStatusCode.OK], answers);
    }

    [Fact]
    public async Task A_fault_that_is_set_can_be_read_and_cleared()
    {
        await Simulator.SetFaultsAsync(new { afterInsert = "errorBody", health = "tooMany", times = 7 });
        var set = await ShowAsync();
        await Simulator.ClearFaultsAsync();
        var cleared = await ShowAsync();

        const string rest = "\"garbage\":false,\"trickle\":false,\"tooMany\":false,\"status\":null";
        const string after = "\"lookUp\":\"none\"";
        Assert.Equal(
            $$"""{"beforeInsert":"none","afterInsert":"errorBody",{{rest}},"health":"tooMany",{{after}},"times":7}""",
            set);
        Assert.Equal(
            $$"""{"beforeInsert":"none","afterInsert":"none",{{rest}},"health":"none",{{after}},"times":null}""",
            cleared);
    }

    [Fact]
    public async Task A_health_fault_of_429_or_garbage_does_not_use_up_the_window()
    {
        await Simulator.SetFaultsAsync(new { health = "tooMany" });
        using var refused = await Simulator.Client.CheckHealthAsync();
        await Simulator.SetFaultsAsync(new { health = "garbage" });
        var garbage = await Simulator.Client.GetStringAsync("payments/service-health");
        await Simulator.ClearFaultsAsync();
        using var healthy = await Simulator.Client.CheckHealthAsync();

        Assert.Equal(HttpStatusCode.TooManyRequests, refused.StatusCode);
        Assert.ThrowsAny<JsonException>(() => JsonDocument.Parse(garbage));
        Assert.Equal(HttpStatusCode.OK, healthy.StatusCode);
    }

    [Theory]
    [InlineData("health", "payments/service-health")]
    [InlineData("lookUp", "payments/4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3")]
    public async Task A_health_call_or_a_look_up_can_hang_until_the_fault_is_cleared(string fault, string path)
    {
        await Simulator.SetFaultsAsync(new Dictionary<string, object> { [fault] = "hang" });

        var call = Simulator.Client.GetAsync(path);
        await Eventually.HoldsAsync(
            async () => await Simulator.CallsAsync() is { HealthCalls: 1 } or { Lookups: 1 }, "the call is held");
        Assert.False(call.IsCompleted);
        await Simulator.ClearFaultsAsync();

        if (fault == "health")
            Assert.Equal(HttpStatusCode.OK, (await call).StatusCode);
        else
            await Assert.ThrowsAsync<HttpRequestException>(() => call);
    }

    [Fact]
    public async Task A_stop_does_not_wait_for_calls_that_are_delayed_or_held()
    {
        var other = await SimulatedProcessor.StartAsync(Clock);
        await other.SetFaultsAsync(new { afterInsert = "hang", times = 1 });
        var held = other.Client.ChargeAsync(_id);
        await Eventually.HoldsAsync(async () => (await other.PaymentsAsync()).Count == 1, "the call is held");
        await other.SetDelayAsync(TimeSpan.FromHours(1));
        var delayed = other.Client.ChargeAsync(Guid.NewGuid());
        await Eventually.HoldsAsync(() => Clock.ArmedTimers == 1, "the other call is in its delay");

        // Nothing ends them but the stop: the clock stalls, and the fault is not cleared.
        await other.DisposeAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(20));

        await Assert.ThrowsAnyAsync<Exception>(() => held);
        await Assert.ThrowsAnyAsync<Exception>(() => delayed);
    }

    private async Task<bool> IsStoredAsync() => (await Simulator.PaymentsAsync()).ContainsKey(_id);

    private async Task<string> ShowAsync()
    {
        using var answer = await Simulator.SendAdminAsync(HttpMethod.Get, "admin/faults");
        return await answer.Content.ReadAsStringAsync();
    }
}
