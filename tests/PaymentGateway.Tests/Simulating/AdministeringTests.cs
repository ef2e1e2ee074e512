namespace PaymentGateway.Tests.Simulating;

public sealed class AdministeringTests() : OneSimulator(feePerTransaction: 0.15m)
{
    private static readonly DateTimeOffset Noon = new(2025, 7, 15, 12, 0, 0, TimeSpan.Zero);

    [Theory]
    [InlineData("GET", "admin/payments-summary")]
    [InlineData("PUT", "admin/configurations/token")]
    [InlineData("PUT", "admin/configurations/delay")]
    [InlineData("PUT", "admin/configurations/failure")]
    [InlineData("POST", "admin/purge-payments")]
    [InlineData("GET", "admin/payments")]
    [InlineData("GET", "admin/calls")]
    [InlineData("GET", "admin/callers")]
    [InlineData("GET", "admin/faults")]
    [InlineData("PUT", "admin/faults")]
    [InlineData("POST", "admin/faults/reset")]
    public async Task An_admin_call_without_the_right_token_gets_401(string method, string path)
    {
        using var without = await Simulator.Client.SendAsync(new HttpRequestMessage(new HttpMethod(method), path));
        Simulator.Token = "124";
        using var wrong = await Simulator.SendAdminAsync(new HttpMethod(method), path);

        Assert.Equal(HttpStatusCode.Unauthorized, without.StatusCode);
        Assert.Equal(HttpStatusCode.Unauthorized, wrong.StatusCode);
    }

    [Fact]
    public async Task The_summary_is_the_JSON_of_the_contract_and_a_bound_must_be_a_time()
    {
        using var first = await Simulator.Client.ChargeAsync(Guid.NewGuid(), 19.90m);
        using var second = await Simulator.Client.ChargeAsync(Guid.NewGuid(), 0.10m);

        using var answer = await Simulator.SendAdminAsync(HttpMethod.Get, "admin/payments-summary");
        using var refused = await Simulator.SendAdminAsync(HttpMethod.Get, "admin/payments-summary?from=noon");

        Assert.Equal(
            """{"totalRequests":2,"totalAmount":20.00,"totalFee":3.0000,"feePerTransaction":0.15}""",
            await answer.Content.ReadAsStringAsync());
        Assert.Equal(HttpStatusCode.BadRequest, refused.StatusCode);
    }

    [Theory]
    [InlineData(0, 0, 1)]
    [InlineData(-1, 1, 1)]
    [InlineData(0, 10, 2)]
    [InlineData(1, 10, 1)]
    [InlineData(1, 9, 0)]
    [InlineData(10, 0, 0)]
    [InlineData(99, null, 2)] // All count where either bound is absent.
    [InlineData(null, -99, 2)]
    public async Task The_summary_bounds_are_inclusive_to_the_microsecond(int? from, int? to, int expected)
    {
        foreach (var requestedAt in new[] { "2025-07-15T12:00:00Z", "2025-07-15T12:00:00.00001Z" })
            (await Simulator.Client.ChargeAsync(Guid.NewGuid(), requestedAt: requestedAt)).Dispose();

        var summary = await Simulator.SummariseAsync(At(from), At(to));

        Assert.Equal((expected, expected * 19.90m), (summary.TotalRequests, summary.TotalAmount));

        static DateTimeOffset? At(int? microseconds) =>
            microseconds is { } after ? Noon + TimeSpan.FromMicroseconds(after) : null;
    }

    [Fact]
    public async Task A_new_token_gets_204_and_replaces_the_old_one()
    {
        using var content = ProcessorRequests.Json("""{"token":"456"}""");
        using var answer = await Simulator.SendAdminAsync(HttpMethod.Put, "admin/configurations/token", content);
        using var old = await Simulator.SendAdminAsync(HttpMethod.Get, "admin/calls");
        Simulator.Token = "456";
        using var now = await Simulator.SendAdminAsync(HttpMethod.Get, "admin/calls");

        Assert.Equal(HttpStatusCode.NoContent, answer.StatusCode);
        Assert.Equal(HttpStatusCode.Unauthorized, old.StatusCode);
        Assert.Equal(HttpStatusCode.OK, now.StatusCode);
    }

    [Theory]
    [InlineData("delay", """{"delay":100}""", """{"config":"delay","was":0,"is":100}""")]
    [InlineData("failure", """{"failure":true}""", """{"config":"failure","was":false,"is":true}""")]
    public async Task A_changed_switch_answers_with_its_old_and_new_value(string name, string sent, string expected)
    {
        using var content = ProcessorRequests.Json(sent);

        using var answer = await Simulator.SendAdminAsync(HttpMethod.Put, $"admin/configurations/{name}", content);

        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        Assert.Equal(expected, await answer.Content.ReadAsStringAsync());
    }

    [Theory]
    [InlineData("admin/configurations/token", """{"token":""}""")]
    [InlineData("admin/configurations/token", """{"token":null}""")]
    [InlineData("admin/configurations/delay", """{"delay":-1}""")]
    [InlineData("admin/configurations/delay", "{}")]
    [InlineData("admin/configurations/failure", """{"failure":"perhaps"}""")]
    [InlineData("admin/faults", """{"afterinsert":"explode"}""")]
    [InlineData("admin/faults", """{"afterLunch":"reset"}""")]
    [InlineData("admin/faults", """{"tooMany":true,"times":0}""")]
    public async Task A_malformed_switch_gets_400_and_changes_nothing(string path, string json)
    {
        using var content = ProcessorRequests.Json(json);

        using var answer = await Simulator.SendAdminAsync(HttpMethod.Put, path, content);
        using var charge = await Simulator.Client.ChargeAsync(Guid.NewGuid());

        Assert.Equal(HttpStatusCode.BadRequest, answer.StatusCode);
        Assert.Equal(HttpStatusCode.OK, charge.StatusCode);
        Assert.Equal(1, (await Simulator.CallsAsync()).Posts);
    }

    [Fact]
    public async Task A_purge_empties_the_ledger_and_the_counters()
    {
        var id = Guid.NewGuid();
        using var before = await Simulator.Client.ChargeAsync(id);

        using var answer = await Simulator.SendAdminAsync(HttpMethod.Post, "admin/purge-payments");

        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        Assert.Equal(0, (await Simulator.SummariseAsync()).TotalRequests);
        Assert.Equal(0, (await Simulator.CallsAsync()).Posts);
        using var again = await Simulator.Client.ChargeAsync(id);
        Assert.Equal(HttpStatusCode.OK, again.StatusCode);
    }

    [Fact]
    public async Task The_calls_are_counted_by_kind()
    {
        var id = Guid.NewGuid();
        using var first = await Simulator.Client.ChargeAsync(id);
        using var second = await Simulator.Client.ChargeAsync(id);
        using var lookUp = await Simulator.Client.LookUpAsync(id);
        using var health = await Simulator.Client.CheckHealthAsync();

        var calls = await Simulator.CallsAsync();
        Assert.Equal(new KeyValuePair<string, long>("127.0.0.1", 2), Assert.Single(await Simulator.CallersAsync()));

        Assert.Equal(new ProcessorCalls(2, 1, 1, 0, 1, 1, 0, 0, 0, 0), calls);
    }
}
