namespace PaymentGateway.Tests.Simulating;

/// <summary>Faults that the contract does not know; ProcessorClientTests have the answers of each.</summary>
public sealed class FaultTests : OneSimulator
{
    private readonly Guid _id = Guid.NewGuid();

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
        const string after = "\"lookUp\":\"none\",\"unanswered\":null";
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
    [InlineData("garbage", HttpStatusCode.OK)]
    [InlineData("foreign", HttpStatusCode.NotFound)]
    public async Task A_stored_payment_can_be_answered_by_a_page(string fault, HttpStatusCode status)
    {
        await Simulator.SetFaultsAsync(new { afterInsert = fault });

        using var answer = await Simulator.Client.ChargeAsync(_id);

        Assert.Equal(status, answer.StatusCode);
        Assert.StartsWith("<html>", await answer.Content.ReadAsStringAsync(), StringComparison.Ordinal);
        Assert.Equal([_id], (await Simulator.PaymentsAsync()).Keys);
    }

    [Theory]
    [InlineData("notFound", "")]
    [InlineData("foreign", "<html>")]
    public async Task A_look_up_can_miss_what_is_stored(string fault, string body)
    {
        using var charged = await Simulator.Client.ChargeAsync(_id);
        await Simulator.SetFaultsAsync(new { lookUp = fault });

        using var answer = await Simulator.Client.LookUpAsync(_id);

        Assert.Equal(HttpStatusCode.NotFound, answer.StatusCode);
        var read = await answer.Content.ReadAsStringAsync();
        Assert.True(body.Length == 0 ? read.Length == 0 : read.StartsWith(body, StringComparison.Ordinal), read);
    }

    [Theory]
    [InlineData(false, """{"failing":true,"minResponseTime":0}""")]
    [InlineData(true, """{"failing":false,"minResponseTime":0}""")]
    public async Task Health_can_say_the_contrary_of_what_is(bool fails, string report)
    {
        await Simulator.SetFailureAsync(fails);
        await Simulator.SetDelayAsync(TimeSpan.FromSeconds(1));
        await Simulator.SetFaultsAsync(new { health = "lie" });

        Assert.Equal(report, await Simulator.Client.GetStringAsync("payments/service-health"));
    }

    [Theory]
    [InlineData("tooMany", true, HttpStatusCode.TooManyRequests)]
    [InlineData("status", 422, HttpStatusCode.UnprocessableEntity)]
    public async Task A_refusal_comes_after_the_delay(string fault, object value, HttpStatusCode status)
    {
        var delay = TimeSpan.FromSeconds(2.5);
        await Simulator.SetDelayAsync(delay);
        await Simulator.SetFaultsAsync(new Dictionary<string, object> { [fault] = value });

        var charge = Simulator.Client.ChargeAsync(_id);
        await Eventually.HoldsAsync(() => Clock.ArmedTimers == 1, "it is in its delay");
        Clock.Advance(delay);

        using var answer = await charge;
        Assert.Equal(status, answer.StatusCode);
    }

    [Fact]
    public async Task Connections_can_stay_unanswered_for_a_time_and_open_ones_end()
    {
        using var open = await ConnectAsync();
        await Simulator.SetFaultsAsync(new { unanswered = 90 });

        Assert.Equal(0, await ReadToEndAsync(open));
        var late = ConnectAsync();
        await Assert.ThrowsAsync<TimeoutException>(() => late.WaitAsync(TimeSpan.FromSeconds(0.5)));
        // The connection that has set the fault is there to clear it.
        Assert.Contains("\"unanswered\":90", await ShowAsync(), StringComparison.Ordinal);
        Clock.Advance(TimeSpan.FromSeconds(90));
        using var answered = await late;
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

    private async Task<Socket> ConnectAsync()
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(Simulator.BaseAddress.Host, Simulator.BaseAddress.Port);
        return socket;
    }

    // An end by a reset is an end, too.
    private static async Task<int> ReadToEndAsync(Socket socket)
    {
        try
        {
            return await socket.ReceiveAsync(new byte[1]);
        }
        catch (SocketException)
        {
            return 0;
        }
    }

    private async Task<string> ShowAsync()
    {
        using var answer = await Simulator.SendAdminAsync(HttpMethod.Get, "admin/faults");
        return await answer.Content.ReadAsStringAsync();
    }
}
